# frozen_string_literal: true

module Tiercel
  module Lab
    module Contestants
      # Whether a store with tiers keeps copies near by now. Over Redis that begins once a process hears of others'
      # changes, some ms after its first read, and the copy that a write leaves goes with the news of that write: what
      # is timed before reads from the last tier.
      module NearCopies
        # The store of no table takes longer, unless its server does not tell of changes.
        PATIENCE_SECONDS = 2.0
        PAUSE_SECONDS = 0.002
        EVENT = "cache_read.active_support"

        class << self
          # Waits until copies are trusted, where something has to be heard of for that.
          #
          # @param store [Tiercel::Store] with tiers
          # @return [Boolean]
          def trusted(store)
            store.read("tiercel-lab:nothing") # as of any reader, the first read that misses near begins it
            patiently { tiers(store).each_value.none? { |tier| tier&.dig(:bus, :trusted) == false } }
          end

          # Waits for the news of what the block writes: with it go the copies that the writes left. It comes in
          # less than a ms, but a loop over one name takes no longer.
          #
          # @param store [Tiercel::Store] with tiers
          # @param keys [Integer] that are written, each once
          # @return [Object] what the block returned
          def after_news(store, keys)
            before = heard(store)
            result = yield
            patiently { heard(store) - before >= keys } if before
            result
          end

          # Reads until all are in the nearest tier. (Of a store without tiers: once.)
          #
          # @param store [ActiveSupport::Cache::Store]
          # @param names [Array<String>]
          # @param patience [Float] seconds
          # @return [Boolean] whether they are
          def fill(store, names, patience: PATIENCE_SECONDS)
            nearest = store.respond_to?(:stats) && tiers(store)&.keys&.first
            patiently(patience) { answering(store, names).all? { |tier| !nearest || tier == nearest } }
          end

          private

          def tiers(store) = store.stats&.fetch(:tiers, nil)

          # @return [Integer, nil] keys that it was told of; nil where nobody tells
          def heard(store) = tiers(store).values.filter_map { |tier| tier&.dig(:bus, :invalidations) }.max

          # @return [Array<String, nil>] which tier had each
          def answering(store, names)
            tiers = []
            ActiveSupport::Notifications.subscribed(->(*, event) { tiers << event[:tier] }, EVENT) do
              names.each { |name| store.read(name) }
            end
            tiers
          end

          def patiently(seconds = PATIENCE_SECONDS)
            deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
            until yield
              return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
              sleep PAUSE_SECONDS
            end
            true
          end
        end
      end
    end
  end
end
