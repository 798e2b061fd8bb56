# frozen_string_literal: true

require "rails_app/support"
require "tiercel/insight"

# The base class of tests in a real Rails application with tiercel-insight.
class InsightAppTest < RailsAppTest
  TOGETHER = true # the application is prepared once
  LIB = File.expand_path("../lib", __dir__)

  private

  # @yieldparam app [RailsApp]
  def with_app(line = "8.1")
    super(line, tests: false) do |app|
      app.prefix = ["env", "RUBYLIB=#{LIB}"]
      boot = app.read("config/application.rb")
      app.write("config/application.rb", boot.sub(/^Bundler\.require.*$/) { |line| "#{line}
require \"tiercel/insight\"" })
      # This machine may be a container with little shared memory, and so busy that a call takes long.
      app.write("config/initializers/machine.rb", <<~RUBY)
        Tiercel::Insight.define_singleton_method(:median_seconds) { |&call| call.call.then { 0.0 } }
        Tiercel::Insight::Doctor::Deployment.define_singleton_method(:container?) { |*| false }
        Tiercel::Insight::Doctor::Deployment.define_singleton_method(:mounts) { "" }
      RUBY
      yield app
    end
  end

  # Runs commands one after another, each in a fork of one process that has booted the application.
  #
  # @param commands [Array<Array<String>>] names with arguments
  # @return [Array<RailsApp::Ran>]
  def commands(app, *commands)
    code = <<~RUBY
      require "rails/command"
      results = #{commands.inspect}.map do |name, *arguments|
        files = %w[out err].map { |stream| File.new("\#{name}.\#{stream}", "w") }
        pid = fork do
          [$stdout, $stderr].zip(files) { |stream, file| stream.reopen(file) }
          Rails::Command.invoke(name, arguments)
        end
        status = Process.wait2(pid).last
        [*files.map { |file| File.read(file.path) }, status]
      end
      $stdout.binmode.write(Marshal.dump(results))
    RUBY
    Marshal.load(out(app.runner(code, env: { "TIERCEL_INSIGHT" => "quiet" })).b).map { |one| RailsApp::Ran.new(*one) }
  end
end
