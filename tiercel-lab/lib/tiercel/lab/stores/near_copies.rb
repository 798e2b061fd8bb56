# frozen_string_literal: true

module Tiercel
  module Lab
    module Contestants
      # Waits until a store with tiers keeps near copies. Over Redis, copies begin some milliseconds after a process'
      # first read, when its listener is connected. The invalidation message of a write also removes the writer's own
      # copy. Until then reads go to the last tier.
      module NearCopies
        # A store takes this long only if its server sends no invalidation messages.
        PATIENCE_SECONDS = 2.0
        PAUSE_SECONDS = 0.002
        EVENT = "cache_read.active_support"

        class << self
          # Waits until the store trusts its copies.
          #
          # @param store [Tiercel::Store] a store with tiers
          # @return [Boolean]
          def trusted(store)
            store.read("tiercel-lab:nothing") # as of any reader, the first read that misses near begins it
            patiently { tiers(store).each_value.none? { |tier| tier&.dig(:bus, :trusted) == false } }
          end

          # Waits for the invalidation messages of the block's writes, which remove the copies that the writes left.
          # They arrive within a millisecond.
          #
          # @param store [Tiercel::Store] a store with tiers
          # @param keys [Integer] number of keys that the block writes, each once
          # @return [Object] the block's value
          def after_news(store, keys)
            before = heard(store)
            result = yield
            patiently { heard(store) - before >= keys } if before
            result
          end

          # Reads until the nearest tier has all entries. Reads a store without tiers once.
          #
          # @param store [ActiveSupport::Cache::Store]
          # @param names [Array<String>]
          # @param patience [Float] seconds
          # @return [Boolean] whether the nearest tier has them all
          def fill(store, names, patience: PATIENCE_SECONDS)
            nearest = store.respond_to?(:stats) && tiers(store)&.keys&.first
            patiently(patience) { answering(store, names).all? { |tier| !nearest || tier == nearest } }
          end

          private

          def tiers(store) = store.stats&.fetch(:tiers, nil)

          # @return [Integer, nil] number of keys in received invalidation messages; nil without a listener
          def heard(store) = tiers(store).values.filter_map { |tier| tier&.dig(:bus, :invalidations) }.max

          # @return [Array<String, nil>] the tier that returned each entry
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
