# frozen_string_literal: true

module Tiercel
  # Forks of this process: the handlers that run around each of them, and the process that a thing belongs to.
  #
  # Not every child comes from Ruby's `fork`: `Process.daemon` runs no handler. So whatever a child must not share with
  # its parent (a connection, a thread, a lock file) remembers its process ({.current}) and is checked when it is used
  # ({.current?}).
  #
  # @private
  module Forks
    # Goes before Ruby's own hook for forks.
    module Hook
      def _fork = Forks.around { super }
    end

    @handlers = [].freeze

    class << self
      # @return [Array<#around_fork>] the first registered is the outermost
      attr_reader :handlers

      # @param handler [#around_fork] its method yields to fork, and returns the block's value: the child's process id,
      #   0 in the child
      # @return [void]
      def register(handler)
        @handlers = [*@handlers, handler].freeze
      end

      # Forks within all handlers.
      #
      # @yieldreturn [Integer] the process id, 0 in the child
      # @return [Integer] the same
      def around(&fork)
        @handlers.reverse.inject(fork) { |inner, handler| -> { handler.around_fork(&inner) } }.call
      end

      # @return [Integer] this process: for {.current?}
      def current = Process.pid

      # @param process [Integer, nil] of {.current}, when a thing was made
      # @return [Boolean] whether that was in this process, not in its parent
      def current?(process) = process == Process.pid
    end

    Process.singleton_class.prepend(Hook)
  end
end
