# frozen_string_literal: true

require_relative "../stores"
require_relative "context"
require_relative "outcome"

module Tiercel
  module Lab
    module Engine
      # A contestant's store, built in a job's process with entries of one value; what came back is compared before and
      # after it is measured.
      class Subject
        attr_reader :store
        # @return [Array<String>]
        attr_reader :names
        attr_reader :values

        # @param values [Array<Object>] one for each name
        # @param prefix [String] of every name
        # @param context [Hash] see {Context#initialize}
        # @raise [CannotRun]
        def initialize(text:, values:, prefix:, context:)
          @contestant = Contestants.parse(text)
          @values = values
          @names = Array.new(values.size) { |index| format("tiercel-lab:%s:%06d", prefix, index) }
          @context = Context.new(**context)
          @contestant.load_gems
          @store = @contestant.build(@context)
          @contestant.settle(@store)
        end

        # @raise [WrongValue]
        def fill
          @contestant.filling(store, names.size) do
            names.each_with_index do |name, index|
              next if store.write(name.dup, values[index])
              raise WrongValue, "the write of a value was refused"
            end
          end
        end

        # @raise [Missed, WrongValue]
        def verify
          names.each_with_index do |name, index|
            found = store.read(name)
            raise Missed, "nothing came back for what had been written" if found.nil?
            raise WrongValue, "something else came back than was written" unless found == values[index]
          end
        end

        def close
          @contestant.tear_down(store, names)
        ensure
          @context.clean_up
        end
      end
    end
  end
end
