# frozen_string_literal: true

module Tiercel
  module Store
    module Values
      # Through any backend: the frame is read and written whole.
      #
      # @private
      class Coded
        def initialize(backend, guard, coder)
          @backend = backend
          @guard = guard
          @coder = coder
        end

        def read(key, version)
          bytes = @guard.call(:read_entry, key) { @backend.get(key) }
          bytes.nil? ? Coder::MISS : decode(bytes, version)
        end

        # Replacing the values of the Hash that is there looks no key up again.
        def read_multi(keys, slow)
          found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi(keys) }
          unsure = false
          found.transform_values! do |bytes|
            value = decode(bytes, nil)
            unsure = true if value.equal?(Coder::SLOW) || value.equal?(Coder::MISS)
            value
          end
          slow_keys(found, slow) if unsure
          found
        end

        def write(key, value, version, expires_in, ttl, threshold)
          expires_at = expires_in && Clock.now + expires_in
          frame = @coder.dump_value(value, expires_at, version, !threshold.nil?, threshold || 0)
          @guard.call(:write_entry, key) { @backend.set(key, frame, ttl) || @guard.too_large(key, frame.bytesize) }
        end

        private

        def slow_keys(found, slow)
          found.each { |key, value| slow << key if value.equal?(Coder::SLOW) || value.equal?(Coder::MISS) }
        end

        # Damaged frames are reported on the entries' way, once. The bytes are read by nobody else: what is frozen is
        # shared by the value at the price of one object less.
        def decode(bytes, version)
          value = @coder.load_value(bytes.freeze, nil, version)
          Coder::EXPIRED.equal?(value) ? Coder::SLOW : value
        rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError
          Coder::SLOW
        end
      end
    end
  end
end
