# frozen_string_literal: true

require_relative "../../deep_freeze"
require_relative "../../frame"
require_relative "../../memo"
require_relative "native"

module Tiercel
  module Store
    module Values
      # Through a {Segment}, with `frozen: true`: values of plain types come back
      # deep-frozen, and are decoded once per process and change.
      #
      # @private
      class Frozen < Native
        def initialize(backend, guard, coder, memo)
          super(backend, guard, coder)
          @memo = memo
        end

        def read(key, version)
          slot = @memo[key]
          return read_afresh(key, version) unless slot && @segment.unchanged?(key, slot.token)
          slot.usable?(version) ? slot.value : Coder::SLOW
        rescue BackendError
          Coder::SLOW
        end

        def read_multi(keys, slow)
          keys.each_with_object({}) do |key, found|
            value = read(key, nil)
            slow << key if value.equal?(Coder::SLOW)
            found[key] = value unless value.equal?(Coder::MISS)
          end
        end

        private

        def read_afresh(key, version)
          bytes, token = @segment.get_with_token(key)
          return Coder::MISS unless bytes
          value = decode(bytes, version)
          return value if value.equal?(Coder::SLOW) || value.equal?(Coder::MISS)
          memoize(key, bytes, token, value) if DeepFreeze.call(value)
          value
        end

        def memoize(key, bytes, token, value)
          frame = Frame.parse(bytes)
          @memo.keep(key, Memo::Slot.new(token, value, frame.expires_at, frame.parts.version, bytes.bytesize))
        end
      end
    end
  end
end
