# frozen_string_literal: true

require "etc"

module Tiercel
  module Lab
    module Engine
      # CPU time and waiting time of other processes (Linux).
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

        # Time in the run queue, while other processes had the CPU.
        #
        # @param pids [Array<Integer>]
        # @return [Integer] nanoseconds; 0 if the system does not report it
        def delay_ns(pids) = pids.sum { |pid| scheduled(pid)&.last.to_i }

        def of_scheduler(pid) = scheduled(pid)&.then { |running_ns, _delay_ns| running_ns / 1e9 }
        private_class_method :of_scheduler

        # @return [Array(Integer, Integer), nil] nanoseconds on the CPU and in the run queue, of all threads
        def scheduled(pid)
          accounts = Dir.glob("/proc/#{pid}/task/*/schedstat").map { |file| File.read(file).split.first(2).map(&:to_i) }
          accounts.transpose.map(&:sum) if accounts.any?
        rescue SystemCallError
          nil
        end
        private_class_method :scheduled

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
