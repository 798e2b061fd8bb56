# frozen_string_literal: true

require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # A Hash that counts down from so many steps before each read (`steps:2000`): a known amount of real work, which
      # the lab has to find again in what it measures (`lab selfcheck`).
      class Steps < Contestant
        # As little of a store as an operation needs.
        class Store
          # @param steps [Integer]
          def initialize(steps)
            @steps = steps
            @data = {}
          end

          # @return [Object] the value
          def write(name, value, **) = @data[name] = value

          # @return [void]
          def clear(*) = @data.clear

          # @return [Object, nil]
          def read(name)
            left = @steps
            left -= 1 while left.positive?
            @data[name]
          end
        end

        # @raise [CannotRun] if the place is no number
        def build(_context)
          count = Integer(place, exception: false)
          raise CannotRun, "steps:#{place}: expected a number of steps, such as steps:2000" unless count&.positive?
          Store.new(count)
        end

        def stored_bytes(*) = nil
      end

      register "steps", Steps
    end
  end
end
