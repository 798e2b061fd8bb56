# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Operations
      # Compresses a payload.
      define "deflate", "compressing", kind: :compressor, body: "store.deflate(inputs[i])", internal?: true do
        def setup(_arm); end

        # Every name has a payload of its own.
        def inputs(arm) = payloads(arm).map(&:freeze)

        def written(_arm) = []

        def verify(arm)
          payloads(arm).each { |payload| expect(payload, arm.store.inflate(arm.store.deflate(payload))) }
        end

        private

        def payloads(arm) = arm.each_pair.map { |_name, value| arm.contestant.payload(value) }

        def expect(payload, found)
          return if found.is_a?(String) && found.b == payload
          raise WrongValue, "inflating gave other bytes than were deflated (#{found.class})"
        end
      end

      # Decompresses a payload.
      define "inflate", "decompressing", like: "deflate", body: "store.inflate(inputs[i])" do
        def inputs(arm) = payloads(arm).map { |payload| arm.store.deflate(payload).freeze }

        def verify(arm)
          payloads(arm).zip(arm.inputs) { |payload, deflated| expect(payload, arm.store.inflate(deflated)) }
        end
      end
    end
  end
end
