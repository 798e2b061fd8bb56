# frozen_string_literal: true

module Tiercel
  module Lab
    # What is timed, and what is done around it.
    #
    # The timed part is one Ruby expression ({#body}), compiled into a loop of
    # each arm's own, so that every arm's call sites see one class only. It
    # may use these locals: `store` (what the contestant built), `names`,
    # `values`, `inputs` (what {#inputs} returned), and `i`, which goes
    # through 0...arm.count again and again (from 0 in each slice of a
    # {#prepared?} operation).
    #
    # @abstract Subclasses implement {#body} and {#verify}.
    class Operation
      class << self
        # @return [String] as the command line takes it
        attr_reader :operation_name
        # @return [String] for people ("a hit costs ...")
        attr_reader :phrase

        # @param name [String]
        # @param phrase [String] what one call is, to be followed by "costs"
        def called(name, phrase)
          @operation_name = name
          @phrase = phrase
        end
      end

      # @return [String]
      def name = self.class.operation_name

      # @return [String]
      def phrase = self.class.phrase

      # @return [Symbol] what kind of subject it works on; contestants say theirs
      def kind = :store

      # @return [String] a Ruby expression
      def body = raise(NotImplementedError)

      # @param _value [Value]
      # @return [String, nil] why it makes no sense for the value; nil if it does
      def unsuitable(_value) = nil

      # @return [Integer, nil] bytes that the store shall be limited to; nil: room enough
      def capacity_bytes = nil

      # @return [String] Ruby that runs before the loop and may set more locals
      def preamble = ""

      # @param value [Value]
      # @return [Integer] how many names each arm has
      def names_for(value) = value.count

      # Once in each worker before arms are built: what holds for the whole process.
      #
      # @return [void]
      def enter; end

      # Undoes {#enter}.
      #
      # @return [void]
      def leave; end

      # Once for each arm, untimed: fills the store.
      #
      # @param arm [Runner::Arm]
      # @return [void]
      def setup(arm) = arm.fill

      # What `inputs` is in the body.
      #
      # @param _arm [Runner::Arm]
      # @return [Object]
      def inputs(_arm) = nil

      # Every name that the store may hold afterwards; where the store is the user's, these are deleted.
      #
      # @param arm [Runner::Arm]
      # @return [Array<Object>]
      def written(arm)
        inputs = arm.inputs
        arm.names | (inputs.is_a?(Array) ? inputs.grep(String) : [])
      end

      # Whether {#before_slice} is to be called before every slice, which then has few calls.
      #
      # @return [Boolean]
      def prepared? = false

      # Untimed, before every slice of a {#prepared?} operation.
      #
      # @param _arm [Runner::Arm]
      # @param _calls [Integer] that the slice will make
      # @return [void]
      def before_slice(_arm, _calls); end

      # @return [Boolean] whether the servers' CPU time is looked at too
      def server_time? = false

      # Calls the store once for every name and compares what comes back; before and after all blocks, untimed.
      #
      # @param arm [Runner::Arm]
      # @return [void]
      # @raise [Missed, WrongValue]
      def verify(arm) = raise(NotImplementedError)
    end
  end
end
