# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Times one slice: wall time, garbage collection, CPU time of the process, compilations by YJIT, and waiting. The
      # times are without YJIT's own: a process compiles a method once, so this is no cost of a call. (Five methods take
      # 2 ms, as long as 1,000 reads of `shared:` with cold processor caches.)
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
          before = compilations
          switches, delay, gc = switches(), delay(), GC.total_time
          cpu, started = cpu_ns, wall_ns
          yield
          ns, cpu = wall_ns - started, cpu_ns - cpu
          gc = GC.total_time - gc
          delay &&= delay() - delay
          waited = switches == switches() ? 0 : [ns - cpu - delay.to_i, 0].max
          compiled, compiling_ns = compilations.zip(before).map { |now, earlier| now - earlier }
          [[ns - compiling_ns, 0].max, gc, [cpu - compiling_ns, 0].max, compiled, waited, delay]
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

        # @return [Array(Integer, Integer)] number of ISEQs that YJIT has compiled, and nanoseconds that this took
        def compilations
          return [0, 0] unless defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
          RubyVM::YJIT.runtime_stats.values_at(:compiled_iseq_count, :compile_time_ns).map(&:to_i)
        end
        private_class_method :wall_ns, :cpu_ns, :switches, :delay, :compilations
      end
    end
  end
end
