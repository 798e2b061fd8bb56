# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Times one slice: wall time, garbage collection, CPU time of the process, compilations by YJIT, and waiting.
      module Stopwatch
        SCHEDULING = "/proc/self/schedstat"
        STATUS = "/proc/self/status"

        module_function

        # @return [Float] seconds of the monotonic clock
        def seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        # - wait_ns: time in which the process slept or waited for locks or input; 0 if it never left the CPU
        # - delay_ns: time in the run queue, while other processes had the CPU; nil if the kernel does not report it
        #
        # @yield the slice
        # @return [Array<Integer>] ns, gc_ns, cpu_ns, ISEQs compiled, wait_ns, delay_ns
        def time
          compiled, gc = compiled_count, GC.total_time
          switches, delay = switches(), delay()
          cpu, started = cpu_ns, wall_ns
          yield
          ns, cpu = wall_ns - started, cpu_ns - cpu
          delay &&= delay() - delay
          waited = switches == switches() ? 0 : [ns - cpu - delay.to_i, 0].max
          [ns, GC.total_time - gc, cpu, compiled_count - compiled, waited, delay]
        end

        def wall_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

        def cpu_ns = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

        # Counts how often the process left the CPU voluntarily.
        def switches
          File.read(STATUS)[/^voluntary_ctxt_switches:\s*(\d+)/, 1]
        rescue SystemCallError
          nil
        end

        def delay
          Integer(File.read(SCHEDULING).split[1])
        rescue SystemCallError, TypeError
          nil
        end

        def compiled_count
          return 0 unless defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
          RubyVM::YJIT.runtime_stats[:compiled_iseq_count]
        end
        private_class_method :wall_ns, :cpu_ns, :switches, :delay, :compiled_count
      end
    end
  end
end
