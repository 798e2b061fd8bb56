# frozen_string_literal: true

# The child process of Tiercel::Generators::DummyBoot. It reads a task as JSON, boots the application in the current
# folder until its cache is built, and prints the result.

require "json"
require "logger"
require "tempfile"

task = JSON.parse($stdin.read)
answer = {}

class TiercelInstallProbe
  attr_accessor :cache_store

  # Evaluates a statement for `config` and builds its configuration.
  def check(statement)
    instance_eval(statement)
    arguments = Array(cache_store).drop(1)
    options = arguments.last.is_a?(Hash) ? arguments.pop : {}
    Tiercel::Configuration.new(arguments, options)
  rescue NameError, KeyError => error
    raise if error.is_a?(NoMethodError)
    nil # a local variable of the file, or a variable that only the statement's condition provides
  end

  def config = self

  def self.databases
    require "active_record/database_configurations"
    all = ActiveRecord::DatabaseConfigurations.new(Rails.application.config.database_configuration)
    names = names(SolidCache.configuration.connects_to)
    found = all.configs_for(env_name: Rails.env)
    found = names ? names.map { |name| found.find { |one| one.name == name } } : found.first(1)
    found.map { |one| one ? { name: one.name, adapter: one.adapter, database: one.database } : {} }
  end

  # Database names of `connects_to`; nil for the application's own database.
  def self.names(connects_to)
    return unless connects_to
    places = connects_to[:shards]&.values || [connects_to[:database]]
    places.compact.flat_map { |place| place.values.map(&:to_s) }.uniq
  end
end

begin
  require File.expand_path("config/boot") if File.exist?("config/boot.rb")
  require "active_support"
  require "active_support/lazy_load_hooks"
  ActiveSupport.on_load(:before_initialize) { throw :tiercel_cache_is_built }
  require File.expand_path("config/application")
  Rails.logger = Logger.new(IO::NULL)
  if task["text"]
    wrapper = Tempfile.create(["environment", ".rb"])
    wrapper.write("eval(#{task["text"].dump}, TOPLEVEL_BINDING, #{task["file"].dump}, 1)\n")
    wrapper.close
    Rails.application.config.paths.add("config/environments", with: wrapper.path)
  end
  catch(:tiercel_cache_is_built) { Rails.application.initialize! }
  task.fetch("statements", []).each { |statement| TiercelInstallProbe.new.check(statement) }
  if task["solid_cache"]
    settings = SolidCache.configuration
    answer = { store_options: settings.store_options, encrypt: settings.encrypt?,
               databases: TiercelInstallProbe.databases }
  end
rescue Exception => error # rubocop:disable Lint/RescueException
  missing = defined?(Tiercel::MissingDependency) && error.is_a?(Tiercel::MissingDependency)
  place = error.backtrace&.find { |line| line.start_with?(Dir.pwd) }&.delete_prefix("#{Dir.pwd}/")&.[](/\A[^:]+:\d+/)
  answer = { (missing ? :missing : :error) => "#{error.class}: #{error.message}#{" (#{place})" if place}" }
ensure
  File.unlink(wrapper.path) if wrapper
end

puts "\ntiercel:install #{JSON.generate(answer)}"
$stdout.flush
exit!(0)
