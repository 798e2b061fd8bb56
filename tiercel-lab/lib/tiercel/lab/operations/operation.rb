# frozen_string_literal: true

module Tiercel
  module Lab
    # A timed operation, and the work around it.
    #
    # The timed part is one Ruby expression (`body`). Each arm compiles it into a loop of its own, so that its call
    # sites see a single class. It may use these locals: `store` (the built contestant), `names`, `values`, `inputs`
    # (the value of {#inputs}), and `i`, which cycles through 0...arm.count. For an operation that is `prepared?`, `i`
    # starts at 0 in each slice.
    #
    # @abstract {Operations.define} declares one, with its {#verify}
    class Operation
      # Maximum number of calls in a slice of an operation that prepares names or entries for each call.
      PREPARED_CALLS = 1_000
      # Maximum number of bytes of values in such a slice.
      PREPARED_BYTES = 16 * 1024 * 1024
      # For other operations only the slice's time limits its calls.
      UNBOUNDED_CALLS = 10**9

      # @param value [Value]
      # @return [Integer] the most calls in a slice of a prepared operation
      def self.prepared_calls(value) = (PREPARED_BYTES / value.approximate_bytes).clamp(1, PREPARED_CALLS)

      # Defaults, which a declaration may override:
      #
      # - `name`, and `phrase`: a noun phrase for one call, as the subject of "costs"
      # - `kind`: the kind of contestants that it can use
      # - `body`: a Ruby expression; `preamble`: Ruby that runs before the loop and may set more locals
      # - `capacity_bytes`: the store's size; nil: enough for all entries
      # - `prepared?`: whether {#before_slice} runs before every slice, which then has few calls
      # - `clock`: :cpu or :wall; nil: the contestant's clock
      # - `server_time?`: whether to measure the servers' CPU time too
      # - `internal?`: whether help leaves it out
      FACTS = { name: nil, phrase: nil, kind: :store, body: nil, preamble: "", capacity_bytes: nil, prepared?: false,
                clock: nil, server_time?: false, internal?: false }.freeze

      # @param facts [Hash{Symbol => Object}] facts with the names in {FACTS}
      def self.facts(facts) = facts.each { |name, fact| define_method(name) { fact } }

      facts(FACTS)

      # @param _value [Value]
      # @return [String, nil] the reason why it does not suit the value; nil if it does
      def unsuitable(_value) = nil

      # @return [Integer] number of names of each arm
      def names_for(value) = value.count

      # @param value [Value]
      # @return [Integer] the most calls in a slice
      def most_calls(value) = prepared? ? Operation.prepared_calls(value) : UNBOUNDED_CALLS

      # Runs once in each arm's process, before the arm is built, to change the whole process.
      def enter; end

      # Undoes {#enter}.
      def leave; end

      # Runs once for each arm, untimed, and fills the store.
      #
      # @param arm [Engine::Arm]
      def setup(arm) = arm.fill

      # Returns `inputs` for the body.
      def inputs(_arm) = nil

      # Every name that the store may contain afterwards. On the user's servers the lab deletes these names.
      #
      # @return [Array<Object>]
      def written(arm)
        inputs = arm.inputs
        arm.names | (inputs.is_a?(Array) ? inputs.grep(String) : [])
      end

      # Runs untimed before every slice of an operation that is `prepared?`.
      #
      # @param _calls [Integer] calls of the slice
      def before_slice(_arm, _calls); end

      # Calls the store once for every name and compares the results; untimed, before and after all blocks.
      #
      # @raise [Missed, WrongValue]
      def verify(arm) = raise(NotImplementedError)
    end
  end
end
