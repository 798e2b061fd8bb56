# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Times one slice: wall clock, garbage collection in it, CPU of the process, whether YJIT compiled meanwhile, and
      # what the process waited for.
      module Stopwatch
        SCHEDULING = "/proc/self/schedstat"
        STATUS = "/proc/self/status"

        module_function

        # @return [Float] seconds of a clock that only goes forward
        def seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        # - wait_ns: of its own accord (sleep, locks, input); 0 if it never gave the CPU away
        # - delay_ns: in the run queue, because others had the CPU; nil where the kernel does not tell
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

        # How often the process gave the CPU away.
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
