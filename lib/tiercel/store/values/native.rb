# frozen_string_literal: true

require_relative "coded"

module Tiercel
  module Store
    module Values
      # Through a {Segment}, which knows the frame of a plain String: that one
      # is read and written without a Ruby String for the frame.
      #
      # @private
      class Native < Coded
        def initialize(backend, guard, coder)
          super
          @segment = backend.segment
          @frames_strings = !coder.checksum? # the segment writes none
        end

        # What the segment could not decode by itself is a frame, and frozen.
        def read(key, version)
          value = @segment.read(key)
          return value unless value.frozen?
          value.nil? ? Coder::MISS : decode(value, version)
        rescue BackendError
          Coder::SLOW
        end

        def read_multi(keys, slow)
          found = @segment.read_multi(keys, frames = [])
          frames.uniq.each do |key|
            value = found[key] = decode(found[key], nil)
            slow << key if value.equal?(Coder::SLOW) || value.equal?(Coder::MISS)
          end
          found
        rescue BackendError
          slow.concat(keys)
          {}
        end

        def write(key, value, version, expires_in, ttl, threshold)
          if @frames_strings && version.nil? && value.instance_of?(String) &&
             (threshold.nil? || value.bytesize < threshold)
            begin
              stored = @segment.write_string(key, value, expires_in && Clock.now + expires_in, ttl)
              @guard.too_large(key, value.bytesize) if stored == false
              return stored unless stored.nil?
            rescue BackendError => error
              return @guard.call(:write_entry, key) { raise error }
            end
          end
          super # asks the guard itself
        end
      end
    end
  end
end
