# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../sizes"
require_relative "../disk_options"

module Tiercel
  module Backends
    class File < Backend
      # The validated options of the backend, and values derived from them.
      class Settings
        DEFAULT_SIZE = "1GB"
        DEFAULT_TIMEOUT_SECONDS = 0.25
        # The folders alone can need 1 MB.
        SMALLEST_SIZE_BYTES = 4 * 1024**2
        # A larger value is refused, because one write may exceed `size` by at most 5 %.
        LARGEST_VALUE_SHARE = 20

        # @return [Integer] bytes on disk, in whole blocks, including folders
        attr_reader :size_bytes
        # @return [Integer] bytes of the largest value that is kept
        attr_reader :largest_value_bytes
        # @return [Integer, nil]
        attr_reader :max_entries
        # @return [Float] maximum wait for a lock, in seconds
        attr_reader :timeout_seconds

        # @param size [Integer, String] bytes on disk
        # @param max_entries [Integer, nil]
        # @param timeout [Numeric] seconds
        # @raise [ConfigurationError] with the option, its value and the expected one
        def initialize(size: DEFAULT_SIZE, max_entries: nil, timeout: DEFAULT_TIMEOUT_SECONDS)
          @size_bytes = Sizes.bytes(size.to_s.match?(/\A\d+\z/) ? size.to_i : size)
          if @size_bytes < SMALLEST_SIZE_BYTES
            raise ConfigurationError, "size: expected at least #{Sizes.human(SMALLEST_SIZE_BYTES)} for a cache of " \
                                      "files, got #{Sizes.human(@size_bytes)}"
          end
          @largest_value_bytes = @size_bytes / LARGEST_VALUE_SHARE
          @max_entries = DiskOptions.count(max_entries, :max_entries)
          @timeout_seconds = DiskOptions.seconds(timeout, :timeout)
        end
      end
    end
  end
end
