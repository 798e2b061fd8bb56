# frozen_string_literal: true

require "fileutils"
require "rbconfig"

module TestRunner
  # The gems of a suite. The gems are installed when the suite runs for the first time. Several checkouts and bin/setup
  # install into the same folder, so one process at a time does it.
  class Bundle
    def initialize(gemfile)
      @environment = { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }
      @gemfile = gemfile
    end

    # @param out [IO] receives a line before an installation
    # @return [String, nil] nil if the gems are there; otherwise why they are not
    def install(out)
      return if complete?
      locked do
        return if complete?
        out.puts "  installing the gems of #{File.basename(@gemfile)}"
        out.flush
        install = [*bundle, "install", "--quiet", "--jobs", "2"]
        lines = IO.popen([@environment, *install, { err: %i[child out] }], &:readlines)
        return if Process.last_status.success?
        "the gems of #{@gemfile} could not be installed: #{lines.last.to_s.strip}"
      end
    end

    private

    def complete? = system(@environment, *bundle, "check", out: File::NULL, err: File::NULL)

    def bundle = [RbConfig.ruby, "-S", "bundle"]

    # The same file as in bin/setup.
    def locked
      FileUtils.mkdir_p(Gem.dir)
      File.open(File.join(Gem.dir, "setup.lock"), File::RDWR | File::CREAT) do |lock|
        lock.flock(File::LOCK_EX)
        yield
      end
    end
  end
end
