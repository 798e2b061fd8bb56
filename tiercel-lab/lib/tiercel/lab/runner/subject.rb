# frozen_string_literal: true

require_relative "../contestants"
require_relative "context"

module Tiercel
  module Lab
    module Runner
      # A contestant's store, built in a job's process with entries of one value; what came back is compared
      # before and after it is measured.
      class Subject
        # @return [Object] what the contestant built
        attr_reader :store
        # @return [Array<String>] equal to those written under, never the same objects
        attr_reader :names
        # @return [Array<Object>]
        attr_reader :values

        # @param text [String] of the contestant
        # @param values [Array<Object>]
        # @param prefix [String] of the names
        # @param context [Hash] of {Context#initialize}
        # @return [Subject]
        # @raise [CannotRun]
        def initialize(text:, values:, prefix:, context:)
          @contestant = Contestants.parse(text)
          @values = values
          @names = Array.new(values.size) { |index| format("tiercel-lab:%s:%06d", prefix, index) }
          @context = Context.new(**context)
          @contestant.gems.each { |name| require_gem(name) }
          @store = @contestant.build(@context)
        end

        # @return [void]
        # @raise [WrongValue] if a value is refused
        def fill
          names.each_with_index do |name, index|
            next if store.write(name.dup, values[index])
            raise WrongValue, "the write of a value was refused"
          end
        end

        # @return [void]
        # @raise [Missed, WrongValue]
        def verify
          names.each_with_index do |name, index|
            found = store.read(name)
            raise Missed, "nothing came back for what had been written" if found.nil?
            raise WrongValue, "something else came back than was written" unless found == values[index]
          end
        end

        # @return [void]
        def close
          @contestant.tear_down(store, names)
        ensure
          @context.clean_up
        end

        # What a job answers instead of figures.
        #
        # @yieldreturn [Hash]
        # @return [Hash{String => Object}] the block's with status "measured", or status and reason
        def self.outcome
          { "status" => "measured" }.merge(yield.transform_keys(&:to_s))
        rescue Missed => e
          { "status" => "misses", "reason" => e.message }
        rescue WrongValue => e
          { "status" => "wrong values", "reason" => e.message }
        rescue CannotRun => e
          { "status" => "cannot run", "reason" => e.message }
        rescue StandardError, ScriptError => e
          { "status" => "cannot run", "reason" => "#{e.class}: #{e.message.lines.first.to_s.strip}" }
        end

        private

        def require_gem(name)
          require name
        rescue LoadError => e
          raise CannotRun, "gem #{name} is not in the bundle: add gem #{name.inspect} to the Gemfile (#{e.message})"
        end
      end
    end
  end
end
