# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # The share of the machine's time that other programs took during a period: the hypervisor's part (steal), and the
      # time that processes waited for a CPU (pressure).
      class Disturbance
        def initialize
          @steal, @total = cpu_times
          @waited_us = waited_us
          @started = now
        end

        # @return [Hash{String => Float, nil}] shares of the time since {#initialize}; nil if the kernel does not report
        #   them
        def shares
          steal, total = cpu_times
          waited = waited_us
          { "steal" => (steal && total > @total ? (steal - @steal).fdiv(total - @total).round(4) : nil),
            "pressure" => (waited && ((waited - @waited_us) / ((now - @started) * 1e6)).round(4)) }
        end

        private

        # The fields are ticks: user nice system idle iowait irq softirq steal.
        def cpu_times
          times = File.foreach("/proc/stat").first.split.drop(1).first(8).map(&:to_i)
          [times[7], times.sum]
        rescue SystemCallError
          [nil, nil]
        end

        def waited_us
          File.read("/proc/pressure/cpu")[/^some .*total=(\d+)/, 1]&.to_i
        rescue SystemCallError
          nil
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
