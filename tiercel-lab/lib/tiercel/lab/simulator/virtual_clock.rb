# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # Moves `Time.now` for the whole process, so that TTLs of every backend in the process follow the trace's clock.
      # Outside of {.run}, `Time.now` is Ruby's own.
      module VirtualClock
        class << self
          # @return [Float, nil] epoch seconds that Time.now returns; nil: the real time
          attr_accessor :at

          # @param start [Float] epoch seconds
          # @yield while the clock stands at `start`, until {.at=} moves it
          # @return [Object] the block's value
          # @raise [ArgumentError] inside of another {.run}
          def run(start)
            raise ArgumentError, "the virtual clock is already running in this process" if at
            begin
              self.at = start
              define_method(:now) { |**options| Time.at(VirtualClock.at, **options) }
              yield
            ensure
              remove_method(:now)
              self.at = nil
            end
          end
        end

        Time.singleton_class.prepend(self)
      end
    end
  end
end
