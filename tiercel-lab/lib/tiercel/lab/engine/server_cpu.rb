# frozen_string_literal: true

require "etc"

module Tiercel
  module Lab
    module Engine
      # CPU time of other processes (Linux).
      module ServerCPU
        module_function

        # Reads the scheduler's account in nanoseconds (/proc/PID/task/*/schedstat). Kernels without it count clock
        # ticks of usually 10 ms in fields 14 and 15 of /proc/PID/stat; see proc(5).
        #
        # @param pids [Array<Integer>]
        # @return [Float, nil] seconds; nil if the system has neither file
        def seconds(pids)
          pids.sum { |pid| of_scheduler(pid) || of_ticks(pid) }
        rescue SystemCallError
          nil
        end

        def of_scheduler(pid)
          files = Dir.glob("/proc/#{pid}/task/*/schedstat")
          files.sum { |file| Integer(File.read(file).split.first) } / 1e9 if files.any?
        rescue SystemCallError
          nil
        end
        private_class_method :of_scheduler

        # Splits after the last bracket: the name in field 2 may contain spaces and brackets.
        def of_ticks(pid)
          fields = File.read("/proc/#{pid}/stat").rpartition(")").last.split
          (Integer(fields[11]) + Integer(fields[12])).fdiv(Etc.sysconf(Etc::SC_CLK_TCK))
        end
        private_class_method :of_ticks
      end
    end
  end
end
