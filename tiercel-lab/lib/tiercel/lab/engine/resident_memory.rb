# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # The memory that processes occupy (Linux).
      module ResidentMemory
        module_function

        # The proportional set size, in which each process counts its share of a shared page (Linux 4.14 and later,
        # /proc/PID/smaps_rollup). If the file is not readable, the resident set size of /proc/PID/status.
        #
        # @param pids [Array<Integer>]
        # @return [Integer, nil] total bytes; nil if the system has neither file
        def bytes(pids)
          each = pids.map { |pid| proportional(pid) || resident(pid) }
          each.sum unless each.any?(&:nil?)
        end

        # @return [String] "PSS" or "RSS": the kind that {bytes} returns here
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
