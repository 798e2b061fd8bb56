# frozen_string_literal: true

module Tiercel
  module Lab
    module Client
      # dalli in any version: bytes as they are, neither serialized nor compressed.
      class DalliClient
        RAW = { raw: true }.freeze

        # @param addresses [Array<String>] HOST:PORT
        # @param options [Hash] of Dalli::Client
        def initialize(addresses, **options)
          @client = Dalli::Client.new(addresses, compress: false, **options)
          extend(Quiet) unless @client.respond_to?(:set_multi)
        end

        def get(key) = @client.get(key, RAW)
        def set(key, bytes) = @client.set(key, bytes, nil, RAW)
        def get_multi(keys) = @client.get_multi(*keys)
        def set_multi(pairs) = @client.set_multi(pairs, nil, RAW)
        def delete_multi(keys) = @client.delete_multi(keys)
        def close = @client.close

        # What versions without calls for many offer: commands whose answers are not waited for one by one.
        module Quiet
          def set_multi(pairs) = @client.quiet { pairs.each { |key, bytes| @client.set(key, bytes, nil, RAW) } }
          def delete_multi(keys) = @client.quiet { keys.each { |key| @client.delete(key) } }
        end
      end
    end
  end
end
