# frozen_string_literal: true

# Fork handling: the handlers that run around each fork, and the check whether a resource belongs to this process.
#
# Not every child comes from Ruby's `fork`: `Process.daemon` runs no handler. A child must not share a connection, a
# thread or a lock file with its parent. Each of these resources therefore remembers its process ({.current}), and
# every use checks it ({.current?}, or on hot paths a direct comparison with {.current}).
#
# @private
module Tiercel::Forks
  # Prepended to Ruby's own hook for forks.
  module Hook
    def _fork = Tiercel::Forks.around { super }
  end

  @handlers = [].freeze

  class << self
    # @return [Array<#around_fork>] in order of registration; the first is the outermost
    attr_reader :handlers

    # @param handler [#around_fork] its method yields to fork and returns the block's value: the child's process id,
    #   or 0 in the child
    # @return [void]
    def register(handler)
      @handlers = [*@handlers, handler].freeze
    end

    # Forks the process inside all registered handlers.
    #
    # @yieldreturn [Integer] the process id, 0 in the child
    # @return [Integer] the block's value
    def around(&fork)
      @handlers.reverse.inject(fork) { |inner, handler| -> { handler.around_fork(&inner) } }.call
    end

    # @!method current
    #   A copy of `Process.pid`, which is a C method: a comparison with it calls no Ruby method.
    #
    #   @return [Integer] the id of this process
    define_method(:current, Process.instance_method(:pid))

    # @param process [Integer, nil] the value of {.current} when a resource was created
    # @return [Boolean] whether this process created it, and not its parent
    def current?(process) = process == current
  end

  Process.singleton_class.prepend(Hook)
end
