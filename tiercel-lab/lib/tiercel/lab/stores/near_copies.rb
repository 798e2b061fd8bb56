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
