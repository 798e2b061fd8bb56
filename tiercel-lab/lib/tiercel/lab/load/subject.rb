# frozen_string_literal: true

require_relative "../engine/context"
require_relative "../stores"

module Tiercel
  module Lab
    module Load
      # A contestant's store in the process that uses it, with the entries of a load.
      class Subject
        attr_reader :store, :contestant
        # @return [Entries, nil]
        attr_reader :entries
        # @return [Keys, nil]
        attr_reader :keys

        # @param text [String] text of the contestant
        # @param context [Hash] see {Engine::Context#initialize}
        # @raise [CannotRun]
        def initialize(text:, context:, entries: nil, keys: nil)
          @contestant = Contestants.parse(text)
          @entries = entries
          @keys = keys
          @context = Engine::Context.new(**context)
          @contestant.load_gems
          @store = @contestant.build(@context)
          @contestant.wait_until_ready(@store)
        end

        # @raise [WrongValue] if a write is refused
        def fill
          names = entries.names
          @contestant.filling(store, names.size) do
            names.each_with_index do |name, index|
              next if store.write(name.dup, entries.value(index))
              raise WrongValue, "the write of a value was refused"
            end
          end
        end

        # @param sample [Integer, nil] number of first entries; nil: all
        # @param must [Boolean] whether each of them must be found
        # @raise [Missed, WrongValue]
        def verify(sample: nil, must: true)
          entries.names.first(sample || entries.size).each_with_index do |name, index|
            entries.check(index, store.read(name), must:)
          end
        end

        # On the user's servers and in the user's folders it deletes every name. The lab's servers end with the run.
        def close
          @contestant.tear_down(store, entries && @contestant.foreign? ? entries.names : [])
        ensure
          @context.clean_up
        end
      end
    end
  end
end
