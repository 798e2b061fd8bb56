# frozen_string_literal: true

# Contestants with a fault or with a known amount of work, for the lab's tests. The tests load them, and their workers
# load them through --require.
require "active_support"
require "active_support/cache"
require "tiercel/lab"

module Planted
  # Sometimes returns another key's value.
  class WrongStore < ActiveSupport::Cache::MemoryStore
    def read(name, ...)
      name.end_with?("7") ? "something else" : super
    end
  end

  # Loses every tenth entry.
  class ForgetfulStore < ActiveSupport::Cache::MemoryStore
    def write(name, ...)
      name.end_with?("3") ? true : super
    end
  end

  # Returns wrong values after many reads.
  class TiringStore < ActiveSupport::Cache::MemoryStore
    READS = 150

    def read(...)
      @reads = @reads.to_i + 1
      @reads > READS ? "tired" : super
    end
  end

  # Fails in a timed slice.
  class FailingStore < ActiveSupport::Cache::MemoryStore
    def initialize(&failure)
      @failure = failure
      super()
    end

    def read(...)
      timed = caller_locations.any? { |line| line.path.end_with?("engine/arm.rb") && line.label.end_with?("slice") }
      timed ? @failure.call : super
    end
  end

  # Makes fetch return another value than its block's.
  class MixingStore < ActiveSupport::Cache::MemoryStore
    def fetch(...) = super.sub("x", "y")
  end

  # Answers from near copies, which lapse after many reads until somebody waits for them again.
  class LapsingStore < ActiveSupport::Cache::MemoryStore
    READS = 120

    def ready = @reads = 0

    def read(...)
      @reads += 1
      @reads > READS ? Array.new(10) { +"a trip" }.size && super : super
    end
  end

  define = Tiercel::Lab::Contestants.method(:define)
  define.call("planted_wrong") { def build(_context) = WrongStore.new }
  define.call("planted_forgetful") { def build(_context) = ForgetfulStore.new }
  define.call("planted_lapsing") do
    def build(_context) = LapsingStore.new
    def wait_until_ready(store) = store.ready
  end
  define.call("planted_tiring") { def build(_context) = TiringStore.new }
  # Leaves more garbage than a process accumulates, and fails if the collector then marks all objects.
  define.call("planted_littering") do
    def build(_context)
      marks = GC.stat(:major_gc_count)
      String.new(capacity: 118_000_000)
      2.times { GC.start(full_mark: false) }
      raise "a full mark" if GC.stat(:major_gc_count) > marks
      ActiveSupport::Cache::MemoryStore.new
    end
  end
  define.call("planted_mixing") { def build(_context) = MixingStore.new }
  define.call("planted_dying") { def build(_context) = Process.kill(:KILL, Process.pid) }
  define.call("planted_raising") { def build(_context) = FailingStore.new { raise "the connection is lost" } }
  define.call("planted_ending") { def build(_context) = FailingStore.new { exit!(3) } }
  define.call("planted_absent", gems: %w[a_gem_that_nobody_has])
  # Loads a library whose files depend on their order, as Active Record does.
  define.call("planted_library") do
    def build(_context)
      require_relative "planted_library"
      PlantedLibrary::Base.validate
      require_relative "planted_library/extension"
      ActiveSupport::Cache::MemoryStore.new
    end
  end
  # Has a worker of its own, with a bundle that does not exist.
  define.call("planted_elsewhere", bundle: "nowhere")
  # Has a worker of its own, with a bundle of ActiveSupport alone.
  define.call("planted_apart", like: "steps", bundle: File.expand_path("apart.gemfile", __dir__))

  # Like the lab's books, but fewer.
  Tiercel::Lab::Values.add(Tiercel::Lab::Values::Books.new(name: "planted-books", title: "two books", books: 2,
                                                           count: 2))
end
