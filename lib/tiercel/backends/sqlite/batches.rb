# frozen_string_literal: true

module Tiercel
  module Backends
    class SQLite < Backend
      # Divides many pairs into what one transaction may put into the log.
      module Batches
        # @param pairs [Array<Array(String, String)>] keys and bytes
        # @param most_rows [Integer] of a batch
        # @param most_bytes [Integer] of a batch; a pair that is larger is one of its own
        # @return [Enumerator<Array<Array(String, String)>>]
        def self.of(pairs, most_rows, most_bytes)
          rows = bytes = 0
          pairs.slice_before do |key, value|
            rows += 1
            bytes += bytesize = key.bytesize + value.bytesize
            next false if rows <= most_rows && bytes <= most_bytes
            rows = 1
            bytes = bytesize
            true
          end
        end
      end
    end
  end
end
