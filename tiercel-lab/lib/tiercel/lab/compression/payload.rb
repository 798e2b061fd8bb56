# frozen_string_literal: true

module Tiercel
  module Lab
    module Compression
      # What compressors are given of a value: a String's own bytes, of anything else what Marshal makes of it.
      module Payload
        module_function

        # @param value [Object]
        # @return [String] binary
        def of(value) = value.is_a?(String) ? value.b : Marshal.dump(value)
      end
    end
  end
end
