# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # A fetch that finds its value.
      class Fetch < Operation
        called "fetch", "a fetch that hits"

        def body = "store.fetch(names[i]) { @misses += 1 }"

        def verify(arm)
          arm.each_pair { |name, value| arm.expect(value, arm.store.fetch(name) { nil }) }
        end
      end

      # The same with a TTL in the call, as applications write it.
      class FetchExpiresIn < Fetch
        called "fetch_expires_in", "a fetch with expires_in that hits"

        EXPIRES_IN = 3_600

        def body = "store.fetch(names[i], expires_in: #{EXPIRES_IN}) { @misses += 1 }"

        def setup(arm) = arm.fill(expires_in: EXPIRES_IN)
      end

      # The same with the name that Rails' `cache` helper makes for a fragment: [:views, "template:digest", record].
      class FetchRecord < Fetch
        called "fetch_record", "a fetch of [:views, \"template:digest\", record] that hits"

        # Stands for an Active Record object: `cache_key` and `cache_version` are what stores ask for.
        class Record
          def initialize(id)
            @id = id
            @updated_at = Time.utc(2024, 1, 1) + id
          end

          def cache_key = "products/#{@id}"
          def cache_version = @updated_at.strftime("%Y%m%d%H%M%S%6N")
          def to_param = @id.to_s
        end

        def body = "store.fetch([:views, \"tiercel-lab:0123abcd\", inputs[i]]) { @misses += 1 }"

        def inputs(arm) = Array.new(arm.count) { |index| Record.new((arm.id * 1_000_000) + index) }

        def setup(arm)
          arm.inputs.each_with_index { |record, index| arm.store.write(fragment(record), arm.values[index]) }
        end

        def verify(arm)
          arm.inputs.each_with_index do |record, index|
            arm.expect(arm.values[index], arm.store.fetch(fragment(record)) { nil })
          end
        end

        def written(arm) = arm.inputs.map { |record| fragment(record) }

        private

        def fragment(record) = [:views, "tiercel-lab:0123abcd", record]
      end
    end
  end
end
