# frozen_string_literal: true

# A Rails application whose pages use the cache in every way. It boots once; each store runs in a child process: a load
# from threads of this process, or Puma with workers and a load over HTTP. Arguments: stores as JSON
# ({"name": ["ruby source", workers]}), number of requests. Prints what the application did and what the figures say.
require "json"
require "logger"
require "net/http"
require "tmpdir"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"

STORES, REQUESTS = JSON.parse(ARGV[0]), Integer(ARGV[1])
ROOT = Dir.mktmpdir("tiercel-load-")
ENV["RAILS_ENV"] = "production"
ENV["DATABASE_URL"] = "sqlite3:#{ROOT}/cache.sqlite3"
require "active_job/railtie"
require "solid_cache"
require "tiercel"
require "tiercel/insight"

class LoadedApplication < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.root = ROOT
  config.eager_load = false
  config.secret_key_base = "secret" * 8
  config.logger = Logger.new("#{ROOT}/log")
  config.hosts.clear
  config.cache_store = :null_store
  config.action_controller.perform_caching = true
  config.action_dispatch.show_exceptions = :none
  config.log_level = :error
  config.tiercel.insight = false
end
LoadedApplication.initialize!
Dir.chdir(ROOT)
owner = Process.pid
at_exit { FileUtils.rm_rf(ROOT) if Process.pid == owner }

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table :solid_cache_entries do |t|
    t.binary :key, null: false, limit: 1_024
    t.binary :value, null: false, limit: 1 << 29
    t.datetime :created_at, null: false
    t.integer :key_hash, null: false, limit: 8
    t.integer :byte_size, null: false, limit: 4
    t.index :key_hash, unique: true
  end
end
ActiveRecord::Base.connection_handler.clear_all_connections!

# The application's own account: one byte for each event, appended atomically by any process.
module Account
  class << self
    attr_writer :file

    def add(letter, count = 1) = @file.syswrite(letter * count)

    def block(letter = "b")
      add(letter)
      yield
    end
  end
end

Item = Struct.new(:id) do
  def cache_key = "items/#{id}"
  def to_partial_path = "pages/item"
end

FileUtils.mkdir_p("#{ROOT}/views/pages")
{ "show" => "<% Account.add('r') %><% cache [:outer, @id % 40] do %><% Account.add('br') %>" \
            "<% cache [:inner, @id % 10] do %><% Account.add('b') %>a<% end %><% end %>" \
            "<% Account.add('r', 5) %><%= render partial: 'pages/item', collection: @items, cached: true %>",
  "_item" => "<% Account.add('b') %><p><%= item.id %></p>" }.each do |name, template|
  File.write("#{ROOT}/views/pages/#{name}.html.erb", template)
end

class PagesController < ActionController::Base
  prepend_view_path "#{ROOT}/views"
  around_action do |_, action|
    Rails.cache.respond_to?(:with_local_cache) ? Rails.cache.with_local_cache(&action) : action.call
  end

  def show
    @id = Integer(params[:id])
    cache = Rails.cache
    id = @id
    Account.add("r", 3)
    cache.fetch("products/#{id % 97}/card") { Account.block { "x" * 300 } }
    cache.fetch("products/#{id % 97}/card") { Account.block { "x" * 300 } }
    cache.fetch(["users", "user#{id % 31}@example.com", { "tab" => 1 }]) { Account.block { { "id" => id } } }
    Account.add("r", 3)
    cache.read_multi("products/1/card", "products/#{id % 97}/card", "never/#{id}")
    Account.add("r", 2)
    cache.fetch_multi("multi/#{id % 13}", "multi/#{id % 7}x", expires_in: 600) { |name| Account.block { name } }
    Account.add("w", 3)
    cache.write("written/#{id % 50}", id)
    cache.write_multi("written/a#{id % 50}" => 1, "written/b" => 2)
    Account.add("r")
    cache.read("absent/#{id}")
    Account.add("d")
    cache.delete("written/#{id % 50}")
    cache.exist?("written/b")
    Account.add("w")
    cache.increment("count/#{id % 3}")
    Account.add("rb")
    cache.fetch("failing/#{id}") { raise "failed" } rescue nil
    @items = Array.new(5) { |at| Item.new((id + at) % 60) }
    render "pages/show", layout: false
  end
end
Rails.application.routes.draw { get "/:id", to: "pages#show" }
Rails.application.eager_load!

def visit(id)
  status, _, body = Rails.application.call(Rack::MockRequest.env_for("/#{id}", "HTTP_HOST" => "localhost"))
  body.each { nil }
  body.close if body.respond_to?(:close)
  raise "status #{status}" unless status == 200
end

# Compiles the templates once for all processes.
Account.file = File.open(File::NULL, "w")
visit(0)

Thread.report_on_exception = false
def in_threads(count = 3)
  Array.new(count) { |at| Thread.new { (at...REQUESTS).step(count) { |id| yield id } } }.each(&:join)
end

def puma(folder, workers)
  require "puma"
  require "puma/configuration"
  require "puma/launcher"
  port_file = "#{folder}/port"
  server = fork do
    configuration = Puma::Configuration.new do |config|
      config.app(Rails.application)
      config.workers(workers)
      config.threads(2, 2)
      config.preload_app!
      # Some worker hangs in closing the socket it accepts from, after its last answer, and is killed at this term.
      config.worker_shutdown_timeout(20)
      config.silence_single_worker_warning if config.respond_to?(:silence_single_worker_warning)
      config.bind("tcp://127.0.0.1:0")
    end
    events = Puma::Events.new
    launcher = Puma::Launcher.new(configuration, log_writer: Puma::LogWriter.null, events:)
    events.after_booted { File.write(port_file, launcher.connected_ports.first.to_s) }
    launcher.run
  end
  sleep 0.02 until File.size?(port_file)
  port = Integer(File.read(port_file))
  in_threads do |id|
    response = Net::HTTP.get_response("127.0.0.1", "/#{id}", port)
    raise response.body[0, 500] unless response.code == "200"
  end
ensure
  Process.kill(:TERM, server)
  Process.wait(server)
end

def measure(name, source, workers)
  folder = "#{ROOT}/#{name.gsub(/\W/, "_")}"
  FileUtils.mkdir_p(folder)
  Account.file = File.open("#{folder}/account", "ab")
  Rails.cache = eval(source)
  Rails.application.config.cache_store = Rails.cache
  ActionController::Base.cache_store = Rails.cache
  ActionView::PartialRenderer.collection_cache = Rails.cache
  Tiercel::Insight.start(Rails.cache, folder: "#{folder}/insight")
  workers ? puma(folder, workers) : in_threads { |id| visit(id) }
  Tiercel::Insight.collector.flush
  figures = Tiercel::Insight::Figures.new("#{folder}/insight")
  account = File.binread("#{folder}/account")
  { store: name, account: %w[r b w d].to_h { |letter| [letter, account.count(letter)] }, totals: figures.totals,
    classes: figures.classes.sum { |one| one[:misses] }, entries: Tiercel::Insight::Capacity.of(Rails.cache)&.entries,
    secrets: Dir["#{folder}/insight/*"].count { |path| File.binread(path).include?("@example.com") } }
end

# All at once, because each mostly waits for the shutdown of its Puma.
children = STORES.map do |name, (source, workers)|
  reader, writer = IO.pipe
  pid = fork do
    writer.puts(JSON.generate(measure(name, source, workers)))
    exit!(0)
  rescue Exception => error
    writer.puts(JSON.generate({ store: name, error: [error.message, *error.backtrace.first(5)] }))
    exit!(1)
  end
  writer.close
  [reader, pid]
end
children.each do |reader, pid|
  puts reader.read
  Process.wait(pid)
end
