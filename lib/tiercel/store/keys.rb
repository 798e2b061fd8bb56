# frozen_string_literal: true

require "active_support"

module Tiercel
  module Store
    # Converts the caller's name to the backend's key: Rails' own expansion and namespace, and a digest instead of the
    # end of a key that is too long, as in Rails 8.1. Rails 7.2 and 8.0 leave long keys to each store.
    module Keys
      # @return [String, Proc, nil] the prefix of every key
      def namespace = @options[:namespace]

      # @param namespace [String, Proc, nil]
      def namespace=(namespace)
        @options[:namespace] = namespace
      end

      # @private
      # @param name [Object] a name as in `read`
      # @return [String] the key in the backend
      def stored_key(name) = normalize_key(name, merged_options(nil))

      # @private
      # @return [String] the prefix of this store's keys: its namespace, or ""
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
