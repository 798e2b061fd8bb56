# frozen_string_literal: true

require "fileutils"
require "open3"
require_relative "suite"

module TestRunner
  # Rails' repository on this machine, as the source of Rails' own test suites. The repository is never changed.
  class RailsCheckout
    # The folders that these suites need.
    FOLDERS = %w[activesupport/test actionview/test actionpack/test activerecord/test tools].freeze

    # @param path [String] a work tree or a bare repository, with release tags
    # @param cache [String] the folder for extracted files
    def initialize(path, cache: self.class.default_cache)
      @cache = cache
      @git_dir, status = Open3.capture2e("git", "-C", path, "rev-parse", "--absolute-git-dir")
      raise Error, "--rails #{path}: not a repository of git (#{@git_dir.strip})" unless status.success?
      @git_dir.strip!
    end

    # @param line [String] for example "8.1"
    # @return [String] its newest release tag, for example "v8.1.3"
    # @raise [Error] if the repository has no such tag
    def tag(line)
      tags = git("tag", "--list", "v#{line}.*").split.grep(/\Av\d+(\.\d+)+\z/)
      tags.max_by { |tag| Gem::Version.new(tag.delete_prefix("v")) } ||
        raise(Error, "the repository at #{@git_dir} has no release tag v#{line}.*; fetch its tags")
    end

    # @param line [String]
    # @return [String] the folder activesupport/test of the newest release
    def tests_of(line)
      tag = tag(line)
      folder = File.join(@cache, "rails-#{tag}-tests")
      extract(tag, folder) unless File.directory?(folder)
      File.join(folder, "activesupport/test")
    end

    private

    # Extracts into a temporary folder first, so that an incomplete one is never used.
    def extract(tag, folder)
      FileUtils.mkdir_p(@cache)
      work = "#{folder}.#{Process.pid}"
      FileUtils.mkdir_p(work)
      folders = git("ls-tree", "-d", "--name-only", tag, *FOLDERS).split
      statuses = Open3.pipeline(["git", "--git-dir", @git_dir, "archive", tag, *folders], ["tar", "-x", "-C", work])
      raise Error, "#{tag}: git archive failed in #{@git_dir}" unless statuses.all?(&:success?)
      File.rename(work, folder)
    rescue Errno::ENOTEMPTY, Errno::EEXIST # another run was faster
      raise unless File.directory?(folder)
    ensure
      FileUtils.rm_rf(work) if work
    end

    def git(*arguments)
      output, status = Open3.capture2e("git", "--git-dir", @git_dir, *arguments)
      raise Error, "git #{arguments.join(" ")}: #{output}" unless status.success?
      output
    end

    def self.default_cache
      base = ENV.fetch("XDG_CACHE_HOME") { File.join(Dir.home, ".cache") }
      File.join(base, "tiercel")
    end
  end
end
