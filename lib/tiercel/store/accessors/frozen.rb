# frozen_string_literal: true

require_relative "../../frame"
require_relative "../../memo"
require_relative "native"

module Tiercel
  module Store
    module Accessors
      # Through a {Segment}, with `frozen: true`: values of plain types come back
      # deep-frozen, and are decoded once per process and change.
      #
      # @private
      class Frozen < Native
        def initialize(backend, guard, coder, memo)
          super(backend, guard, coder)
          @memo = memo
        end

        def read(key, version, _event = nil)
          slot = @memo[key]
          return slot.value if slot && @segment.unchanged?(key, slot.token) && slot.usable?(version)
          bytes, token = @segment.get_with_token(key)
          bytes ? decode_and_keep(key, bytes, token, version) : MISS
        rescue BackendError => error
          failed(:read_entry, key, error)
          MISS
        end

        def read_multi(keys, versions, unsettled)
          keys.each_with_index.with_object({}) do |(key, index), found|
            value = read(key, versions && versions[index])
            next if MISS.equal?(value)
            unsettled << key if Coder::Signal === value
            found[key] = value
          end
        end

        private

        def decode_and_keep(key, bytes, token, version)
          value = decode(bytes, version, token)
          return value if Coder::Signal === value || !DeepFreeze.call(value)
          frame = Frame.parse(bytes)
          @memo.keep(key, Memo::Slot.new(token, value, frame.expires_at, frame.parts.version, bytes.bytesize))
          value
        end
      end
    end
  end
end
