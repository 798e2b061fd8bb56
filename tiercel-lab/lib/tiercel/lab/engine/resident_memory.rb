# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # How much memory processes hold (Linux).
      module ResidentMemory
        module_function

        # The proportional set size, which counts a page that several processes share by its share (Linux from 4.14,
        # /proc/PID/smaps_rollup); where that cannot be read, the resident set size of /proc/PID/status.
        #
        # @param pids [Array<Integer>]
        # @return [Integer, nil] bytes of all together; nil where there is neither
        def bytes(pids)
          each = pids.map { |pid| proportional(pid) || resident(pid) }
          each.sum unless each.any?(&:nil?)
        end

        # @return [String] "PSS" or "RSS": what {bytes} counts here
        def kind = proportional(Process.pid) ? "PSS" : "RSS"

        def proportional(pid) = kilobytes("/proc/#{pid}/smaps_rollup", "Pss")
        private_class_method :proportional

        def resident(pid) = kilobytes("/proc/#{pid}/status", "VmRSS")
        private_class_method :resident

        def kilobytes(path, name)
          found = File.read(path)[/^#{name}:\s*(\d+) kB/, 1]
          found && (Integer(found) * 1024)
        rescue SystemCallError
          nil
        end
        private_class_method :kilobytes
      end
    end
  end
end
