# frozen_string_literal: true

# Returns whether a resource belongs to this process.
#
# A child must not use its parent's connections, threads, leases and lists. Each such object therefore remembers
# its process ({.current}), and every use checks the process ({.current?}, or on hot paths a direct comparison with
# {.current}). No hook of Ruby is needed, and none would run for `Process.daemon`.
#
# @private
module Tiercel::Forks
  class << self
    # @!method current
    #   A copy of `Process.pid`, which is a C method: a comparison with it calls no Ruby method.
    #
    #   @return [Integer] the id of this process
    define_method(:current, Process.instance_method(:pid))

    # @param process [Integer, nil] the value of {.current} when a resource was created
    # @return [Boolean] whether this process created it, and not its parent
    def current?(process) = process == current
  end
end
