# frozen_string_literal: true

module Tiercel
  module Lab
    # A timed operation, and the work around it.
    #
    # The timed part is one Ruby expression (`body`), compiled into a loop of each arm's own, so that every arm's call
    # sites see one class only. It may use these locals: `store` (what the contestant built), `names`, `values`,
    # `inputs` (what {#inputs} returned), and `i`, which goes through 0...arm.count again and again (from 0 in each
    # slice of an operation that is `prepared?`).
    #
    # @abstract {Operations.define} declares one, with its {#verify}.
    class Operation
      # Operations that need names or entries prepared for each call use at most so many calls in a slice.
      PREPARED_CALLS = 1_000
      # And have at most so many bytes of values in it.
      PREPARED_BYTES = 16 * 1024 * 1024
      # The time of a slice alone bounds the calls of other operations.
      UNBOUNDED_CALLS = 10**9

      # @param value [Value]
      # @return [Integer] calls of a prepared operation in a slice, at most
      def self.prepared_calls(value) = (PREPARED_BYTES / value.approximate_bytes).clamp(1, PREPARED_CALLS)

      # Defaults of an operation, which its declaration may override:
      #
      # - `name`, and `phrase`: what one call is, to be followed by "costs"
      # - `kind`: what kind of subject it works on; contestants say theirs
      # - `body`: a Ruby expression, and `preamble`: Ruby that runs before the loop and may set more locals
      # - `capacity_bytes`: what the store shall be limited to; nil: room enough
      # - `prepared?`: whether {#before_slice} is called before every slice, which then has few calls
      # - `clock`: :cpu or :wall, where it is not the contestant's
      # - `server_time?`: whether the servers' CPU time is looked at too
      # - `internal?`: not offered by help
      FACTS = { name: nil, phrase: nil, kind: :store, body: nil, preamble: "", capacity_bytes: nil, prepared?: false,
                clock: nil, server_time?: false, internal?: false }.freeze

      # @param facts [Hash{Symbol => Object}] of {FACTS}
      def self.facts(facts) = facts.each { |name, fact| define_method(name) { fact } }

      facts(FACTS)

      # @param _value [Value]
      # @return [String, nil] why it makes no sense for the value; nil if it does
      def unsuitable(_value) = nil

      # @return [Integer] how many names each arm has
      def names_for(value) = value.count

      # @param value [Value]
      # @return [Integer] calls of a slice, at most
      def most_calls(value) = prepared? ? Operation.prepared_calls(value) : UNBOUNDED_CALLS

      # Once in each worker before arms are built: what holds for the whole process.
      def enter; end

      # Undoes {#enter}.
      def leave; end

      # Once for each arm, untimed: fills the store.
      #
      # @param arm [Engine::Arm]
      def setup(arm) = arm.fill

      # The value of `inputs` in the body.
      def inputs(_arm) = nil

      # Every name that the store may hold afterwards; where the store is the user's, these are deleted.
      #
      # @return [Array<Object>]
      def written(arm)
        inputs = arm.inputs
        arm.names | (inputs.is_a?(Array) ? inputs.grep(String) : [])
      end

      # Untimed, before every slice of an operation that is `prepared?`.
      #
      # @param _calls [Integer] that the slice will make
      def before_slice(_arm, _calls); end

      # Calls the store once for every name and compares what comes back; before and after all blocks, untimed.
      #
      # @raise [Missed, WrongValue]
      def verify(arm) = raise(NotImplementedError)
    end
  end
end
