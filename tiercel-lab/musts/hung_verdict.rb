# frozen_string_literal: true

require "tiercel/backends/remote/options"
require_relative "hung_server"

module Tiercel
  module Lab
    module Tables
      module Musts
        class HungServer
          # Compares the times of {HungServer} with the project's targets.
          module Verdict
            BUDGET_SECONDS = Backends::Remote::Options::DEFAULT_TIMEOUT
            # A timer wakes its process somewhat after the end of the budget. A tenth more still counts as within the
            # budget.
            ALLOWANCE = 0.1
            OPEN_SECONDS = 50e-6

            module_function

            # @param times [Hash{Symbol => Array<Float>}] seconds, by operation
            # @return [Array(Symbol, String)]
            def within_budget(times)
              all = times.values.flatten
              name, worst = worst_of(times)
              state = worst <= BUDGET_SECONDS * (1 + ALLOWANCE) ? :holds : :fails
              state = :undecided if state == :fails && quantile(all, 0.5) <= BUDGET_SECONDS * (1 + ALLOWANCE)
              [state,
               format("median %.1f ms, longest %.1f ms (%s), %d calls", quantile(all, 0.5) * 1e3, worst * 1e3, name,
                      all.size)]
            end

            # Judges the operation with the slowest 99th percentile. Slower calls are due to the machine.
            #
            # @param times [Hash{Symbol => Array<Float>}] seconds, by operation
            # @return [Array(Symbol, String)]
            def when_open(times)
              slow = times.values.map { |list| quantile(list, 0.99) }.max
              typical = times.values.map { |list| quantile(list, 0.5) }.max
              state = if slow <= OPEN_SECONDS then :holds
                      else typical > OPEN_SECONDS ? :fails : :undecided
                      end
              [state, times.map { |name, list| "#{name} #{in_us(list)}" }.join(", ") + " (us: median, 99 %, longest)"]
            end

            # @param seconds [Array<Float>]
            # @param share [Float] 0.99: returns the time that 99 % of the calls do not exceed
            # @return [Float]
            def quantile(seconds, share) = seconds.sort[((seconds.size - 1) * share).ceil]

            def worst_of(times) = times.transform_values(&:max).max_by(&:last)

            def in_us(list)
              [quantile(list, 0.5), quantile(list, 0.99), list.max].map { |time| format("%.1f", time * 1e6) }.join("/")
            end
          end
        end
      end
    end
  end
end
