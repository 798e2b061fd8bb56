# frozen_string_literal: true

require "active_support"

module Tiercel
  module Store
    # From the caller's name to the key that is sent to the backend: Rails' own
    # expansion and namespace, and, as Rails 8.1 does, a digest in place of the
    # tail of a key that is too long. Rails 7.2 and 8.0 left that to each store.
    module Keys
      # As in Rails 8.1, which has memcached's limit for all stores.
      MAX_KEY_BYTES = 250

      # @return [String, Proc, nil] what is put before every key
      def namespace = @options[:namespace]

      # @param namespace [String, Proc, nil]
      def namespace=(namespace)
        @options[:namespace] = namespace
      end

      # @private
      # @param name [Object] as it is passed to `read`
      # @return [String] the key that the backend has
      def stored_key(name) = normalize_key(name, merged_options(nil))

      # @private
      # @return [String] what the keys of this store begin with: its namespace, or ""
      def stored_prefix = key_prefix(merged_options(nil)).to_s

      private

      def normalize_key(name, options = nil)
        truncate_key(super)
      end

      def truncate_key(key)
        limit_bytes = @settings.max_key_bytes
        return key if !limit_bytes || key.bytesize <= limit_bytes
        suffix = ":hash:#{ActiveSupport::Digest.hexdigest(key)}"
        "#{key.byteslice(0, limit_bytes - suffix.bytesize).scrub("")}#{suffix}"
      end

      # The prefix of this namespace's keys.
      def key_prefix(options)
        namespace = options[:namespace]
        namespace = namespace.call if namespace.respond_to?(:call)
        "#{namespace}:" if namespace
      end
    end
  end
end
