# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Times one slice: wall clock, garbage collection in it, CPU of the process, and whether YJIT compiled meanwhile.
      module Stopwatch
        module_function

        # @return [Float] seconds of a clock that only goes forward
        def seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        # @yield the slice
        # @return [Array(Integer, Integer, Integer, Integer)] ns, gc_ns, cpu_ns, ISEQs compiled
        def time
          compiled = compiled_count
          gc = GC.total_time
          cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
          started = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          yield
          ended = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) - cpu
          [ended - started, GC.total_time - gc, cpu, compiled_count - compiled]
        end

        def compiled_count
          return 0 unless defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
          RubyVM::YJIT.runtime_stats[:compiled_iseq_count]
        end
      end
    end
  end
end
