# frozen_string_literal: true

require_relative "../../load/client"

module Tiercel
  module Lab
    module Tables
      module Tiers
        # A process that reads a stack of tiers, and its last tier alone, over the same entries. Some entries have near
        # copies; the others have never been read.
        class Mix < Load::Client
          BATCH = 500

          # Writes all entries to the last tier, and reads the near ones into the near tier.
          #
          # @param stack [String] id of the store with tiers
          # @param last [String] id of its last tier
          # @return [Hash] see {Engine::Outcome.of}
          def fill(stack:, last:)
            Engine::Outcome.of do
              write(subject(last))
              subject(stack).verify(sample: Load::Keys::NEAR)
              next if Contestants::NearCopies.fill(subject(stack).store,
                                                   subject(stack).entries.names.first(Load::Keys::NEAR))
              raise CannotRun, "what was read does not stay near, so shares of near hits cannot be made"
            end
          end

          private

          def write(subject)
            entries = subject.entries
            entries.names.each_with_index.each_slice(BATCH) do |slice|
              subject.store.write_multi(slice.to_h { |name, index| [name, entries.value(index)] })
            end
          end
        end
      end
    end
  end
end
