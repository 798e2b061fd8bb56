# frozen_string_literal: true

# Contestants with a fault, and with a known amount of work, for the lab's own tests: loaded by the tests, and by
# their workers through --require.
require "active_support"
require "active_support/cache"
require "tiercel/lab/stores"
require "tiercel/lab/values"

module Planted
  # Answers with another key's value now and then.
  class WrongStore < ActiveSupport::Cache::MemoryStore
    def read(name, ...)
      name.end_with?("7") ? "something else" : super
    end
  end

  # Forgets every tenth thing that it is told.
  class ForgetfulStore < ActiveSupport::Cache::MemoryStore
    def write(name, ...)
      name.end_with?("3") ? true : super
    end
  end

  # Is right at first, and wrong once it was read often.
  class TiringStore < ActiveSupport::Cache::MemoryStore
    READS = 150

    def read(...)
      @reads = @reads.to_i + 1
      @reads > READS ? "tired" : super
    end
  end

  # Gives a caller of fetch something else than its block made.
  class MixingStore < ActiveSupport::Cache::MemoryStore
    def fetch(...) = super.sub("x", "y")
  end

  define = Tiercel::Lab::Contestants.method(:define)
  define.call("planted_wrong") { def build(_context) = WrongStore.new }
  define.call("planted_forgetful") { def build(_context) = ForgetfulStore.new }
  define.call("planted_tiring") { def build(_context) = TiringStore.new }
  define.call("planted_mixing") { def build(_context) = MixingStore.new }
  define.call("planted_dying") { def build(_context) = Process.kill(:KILL, Process.pid) }
  define.call("planted_absent", gems: %w[a_gem_that_nobody_has])
  # In a worker of its own, with a bundle that is not there.
  define.call("planted_elsewhere", bundle: "nowhere")
  # In a worker of its own, with a bundle that has nothing but ActiveSupport.
  define.call("planted_apart", like: "steps", bundle: File.expand_path("apart.gemfile", __dir__))

  # As the lab's books, fewer.
  Tiercel::Lab::Values.add(Tiercel::Lab::Values::Books.new(name: "planted-books", title: "two books", books: 2,
                                                           count: 2))
end
