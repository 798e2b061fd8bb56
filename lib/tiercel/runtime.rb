# frozen_string_literal: true

# The state that changes while calls run, and belongs to no single store. A process has one runtime for all its stores;
# each further Ractor has its own ({ActiveSupport::Cache::TiercelStore::Shareable}).
#
# @private
class Tiercel::Runtime
  # The fiber storage's key of the miss whose block runs, the innermost one. Threads, fibers and enumerators inherit
  # it, so a fetch in a thread that a block has started is a fetch inside that block.
  HELD = :tiercel_fetch_miss

  # @return [Integer] number of running blocks of `fetch`: most calls need to know only that there is none. CRuby
  #   switches threads at branches and returns only, so no count is lost
  attr_accessor :blocks
  # @return [Random, nil] for names of leases, and the process that has seeded it
  attr_accessor :random, :seeded_by
  # A program that watches this process' stores without subscribing to their events, such as tiercel-insight. A hit of
  # `shared:` costs less than an event. A segment therefore passes on the reads of some keys only ({Segment#sample}),
  # and a `fetch` only the durations of its blocks.
  #
  # @return [#untimed?, #computed, #recount, nil] `untimed?` receives a backend and the id of the process, and says
  #   whether the next block needs no timing; `computed` receives the backend, the key and the duration in nanoseconds
  #   of each other block of `fetch`; `recount` receives corrections of the hits and misses that a segment counts
  attr_accessor :observer
  # @return [Mutex] guards all flights, so that a cycle of waits is found even across stores
  attr_reader :flights_lock

  def initialize
    @blocks = 0
    @flights_lock = Mutex.new
  end

  MAIN = new
  private_constant :MAIN

  # Parts of a store call this once and keep the result, because a call costs as much as a third of a read.
  #
  # @return [Runtime] of this Ractor
  def self.current = main? ? MAIN : Ractor.current[:tiercel_runtime] ||= new

  # @return [Boolean]
  def self.main? = Ractor.current.equal?(Ractor.main)

  # @return [Boolean] whether the code runs inside a block of `fetch`
  def inside_block? = @blocks > 0 && !Fiber[HELD].nil?
end
