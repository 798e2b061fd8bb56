# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "tmpdir"
require "tiercel/lab"

# A copy of a Rails application (the lab's examples/shop) with Tiercel in its bundle; a test may change its files.
# Each command boots the application, which takes about a second, so each test asserts as much as possible per
# command.
#
#   RailsApp.open(line: "8.1") do |app|
#     app.cache_store = %(:tiercel_store, "shared:")
#     app.runner("p Rails.cache.increment('visits')").out     # => "1\n"
#     app.task("tiercel:segments").out
#     app.rails("generate", "tiercel:install")
#     app.rails("test", env: { "RAILS_ENV" => "test" })
#   end
class RailsApp
  # The result of a command; {#ok?} is true if it exited with 0.
  Ran = Struct.new(:out, :err, :status) do
    def ok? = status.success?
    def to_s = "#{status}\n#{out}\n#{err}"
  end

  LINES = Tiercel::Lab::Engine::Shop::LINES
  # The application's test helper; the lab's copy has no tests.
  TEST_HELPER = <<~RUBY
    ENV["RAILS_ENV"] ||= "test"
    require_relative "../config/environment"
    require "rails/test_help"
  RUBY
  CONFIGURED = /^  config\.cache_store = .*$/
  private_constant :TEST_HELPER, :CONFIGURED

  class << self
    # @param line [String] one of {LINES}
    # @param tests [Boolean] whether the application runs tests of its own, which need a database
    # @yieldparam app [RailsApp] an application with its databases, removed after the block
    # @return [Object] the block's value
    # @raise [Tiercel::Lab::CannotRun] if its gems cannot be installed
    def open(line: LINES.first, tests: true)
      Dir.mktmpdir("tiercel-rails-") do |folder|
        copy = File.join(folder, "shop")
        FileUtils.cp_r(template(line, tests), copy)
        app = new(Tiercel::Lab::Engine::Shop.new(copy, line:))
        yield app
      ensure
        app&.remove_segments
      end
    end

    private

    # The copy with databases and test/test_helper.rb, created once for all tests of a process.
    def template(line, tests)
      @templates ||= {}
      @templates[[line, tests]] ||= begin
        folder = Dir.mktmpdir("tiercel-rails-#{line}-")
        owner = Process.pid
        at_exit { FileUtils.rm_rf(folder) if Process.pid == owner }
        shop = Tiercel::Lab::Engine::Shop.new(File.join(folder, "shop"), line:)
        shop.bundle.install
        shop.copy.prepare
        shop.prepare(rails_env: "test") if tests
        FileUtils.rm_rf(Dir[File.join(shop.folder, "log", "*")])
        new(shop).write("test/test_helper.rb", TEST_HELPER)
        shop.folder
      end
    end
  end

  # @return [String]
  attr_reader :folder
  # @return [Array<String>] a prefix for its commands, for example to enter a namespace
  attr_accessor :prefix

  # @param shop [Tiercel::Lab::Engine::Shop]
  def initialize(shop)
    @shop = shop
    @folder = shop.folder
    @prefix = []
  end

  # @param ruby [String] Ruby source for the right side of `config.cache_store =`, in all environments
  def cache_store=(ruby)
    Dir[path("config/environments/*.rb")].each do |file|
      File.write(file, File.read(file).sub(CONFIGURED) { "  config.cache_store = #{ruby}" })
    end
  end

  # @param name [String] a path in the application
  # @return [String]
  def path(name) = File.join(folder, name)

  # @param name [String]
  # @param text [String] the new content of the file
  def write(name, text)
    FileUtils.mkdir_p(File.dirname(path(name)))
    File.write(path(name), text)
  end

  # @param name [String]
  # @return [String] the file's content; "" if it does not exist
  def read(name) = File.exist?(path(name)) ? File.read(path(name)) : ""

  # @return [String] the log of production
  def log = read("log/production.log")

  # @param arguments [Array<String>] arguments of bin/rails
  # @param env [Hash{String => String, nil}]
  # @param folder [String, nil] another application inside this one, which runs with this one's bundle
  # @return [Ran]
  def rails(*arguments, env: {}, folder: nil)
    return Ran.new(*Open3.capture3(environment(env), *here, *@shop.command(*arguments), stdin_data: "")) unless folder
    command = [RbConfig.ruby, "bin/rails", *arguments]
    Ran.new(*Open3.capture3(environment(env), *prefix, "env", "-C", path(folder), *command, stdin_data: ""))
  end

  # @param code [String] Ruby code
  # @return [Ran]
  def runner(code, env: {}) = rails("runner", code, env:)

  # @param name [String] the name of a rake task
  # @return [Ran]
  def task(name, env: {}) = rails(name, env:)

  # Runs several runners concurrently.
  #
  # @return [Array<Ran>]
  def runners(codes, env: {}) = codes.map { |code| Thread.new { runner(code, env:) } }.map(&:value)

  # @param env [Hash{String => String, nil}]
  # @return [Hash{String => String, nil}] the environment of the application's processes, in production
  def environment(env = {})
    @shop.environment("tiercel_store shared:").merge({ "SECRET_KEY_BASE" => secret }, env.transform_keys(&:to_s))
  end

  # Removes segments that `shared:` created for this copy of the application: a segment outlives its processes.
  #
  # @return [void]
  def remove_segments
    [secret, read("tmp/local_secret.txt")].each do |own|
      name = "tiercel-*-#{Digest::SHA256.hexdigest("tiercel segment #{own}")[0, 8]}.*"
      FileUtils.rm_f(Dir["/dev/shm/#{name}", "#{Dir.tmpdir}/#{name}"])
    end
  end

  # Runs a command of the application's bundle, for example puma.
  #
  # @param command [Array<String>]
  # @return [Integer] its pid; the caller must end the process
  def spawn(*command, env: {}, **options) = Process.spawn(environment(env), *here, *command, **options)

  private

  # Each copy has its own secret, and therefore its own segment.
  def secret = @secret ||= Digest::SHA256.hexdigest(folder)

  # A command that enters a namespace starts in the root folder.
  def here = [*prefix, "env", "-C", folder]
end
