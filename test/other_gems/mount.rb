# frozen_string_literal: true

# Loaded before the tests of another gem. TIERCEL_IN_PLACE_OF names a class of stores: each new object becomes an empty
# Tiercel store with the URLs in TIERCEL_URLS, or Rails' own with `memory_store` in place of a URL. Without URLs the gem
# keeps its own store. Minitest writes its result as
# RSpec's JSON formatter does, into TIERCEL_RESULT.

require "json"
require "tmpdir"
require "active_support"
require "active_support/cache"

urls = ENV.fetch("TIERCEL_URLS").split
if urls.any?
  require "rails" if Gem.loaded_specs.key?("railties") # Tiercel then extends its views
  require "tiercel"
  name, file = ENV.fetch("TIERCEL_IN_PLACE_OF").split
  require file
  replaced = Object.const_get(name)
  folder, owner, caches = Dir.mktmpdir("tiercel-other-gems-"), Process.pid, 0
  at_exit { FileUtils.rm_rf(folder) if Process.pid == owner }
  replaced.define_singleton_method(:new) do |*arguments, **options|
    next super(*arguments, **options) unless equal?(replaced)
    options = { **arguments.grep(Hash).first.to_h, **options }.slice(:namespace, :expires_in, :compress, :serializer)
    next ActiveSupport::Cache::MemoryStore.new(**options) if urls == ["memory_store"]
    # A test of an unreachable server names another address than that of the environment.
    address = arguments.grep(String).first
    next Tiercel.new("memcached://#{address}") if address && !address.end_with?(":#{ENV.fetch("MEMCACHED_PORT")}")
    # Each object of the store that it replaces is a cache of its own.
    places = urls.map { |url| url == "shared:" ? "shared:#{folder}/#{caches += 1}?size=16MB" : url }
    Tiercel.new(*places).clear
    File.write("#{ENV.fetch("TIERCEL_RESULT")}.stores", ".", mode: "a")
    Tiercel.new(*places, **options)
  end
end

if ENV["TIERCEL_RUNS"] == "minitest"
  require "minitest"
  collect = Class.new(Minitest::AbstractReporter) do
    def start = @examples = []

    def record(result)
      status = result.skipped? ? "pending" : (result.passed? ? "passed" : "failed")
      @examples << { full_description: "#{result.klass} #{result.name}", status: }
      @examples.last[:exception] = { message: result.failure.message } if status == "failed"
    end

    def report = File.write(ENV.fetch("TIERCEL_RESULT"), JSON.dump(examples: @examples))
  end
  Minitest.singleton_class.define_method(:plugin_tiercel_init) { |_options| reporter << collect.new }
  Minitest.extensions << "tiercel"
end
