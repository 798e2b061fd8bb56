# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "rbconfig"
require_relative "../../errors"
require_relative "../../engine/gemfile"
require_relative "side"

module Tiercel
  module Lab
    module Tables
      module Sides
        # A revision of the repository, copied into the user's cache folder and compiled there; "." is the checkout as
        # it is.
        class Revision < Side
          HERE = "."
          # The files that a measurement can depend on.
          SOURCES = "{lib,ext}/**/*.{rb,c,h}"

          # @return [String] the repository that the lab lies in
          # @raise [UsageError] if it lies in none
          def self.repository
            folder, status = Open3.capture2e("git", "-C", __dir__, "rev-parse", "--show-toplevel")
            return folder.strip if status.success?
            raise UsageError, "the lab lies in no git repository here; --repository DIR says where the checkout of " \
                              "tiercel is"
          end

          attr_reader :text

          # @param text [String] anything that `git rev-parse` resolves, or "."
          # @param repository [String] folder
          # @raise [UsageError] if it is not one
          def initialize(text, repository:)
            super()
            @text = text
            @repository = File.expand_path(repository)
            @sha = git("rev-parse", "--verify", "--quiet", "--end-of-options", "#{here? ? "HEAD" : text}^{commit}")
          rescue CannotRun
            raise UsageError,
              "compare #{text}: neither a store (TYPE[:PLACE][#OPTION=VALUE]), nor GEM@VERSION, nor a " \
                              "revision in #{@repository}"
          end

          def kind = "a revision"

          def fingerprint = @fingerprint ||= digest

          def sameness = "lib/ and ext/ are the same in both"

          def stores = ["tiercel:shared:"]

          def prepare(progress: nil)
            compile(progress) unless here? || compiled?
          end

          def contestant(store, again: false)
            gemfile = Engine::Gemfile.new(base: nil, name: "tiercel", source: "path: #{folder.inspect}")
            placed(store, gemfile.write("tiercel-#{here? ? "checkout" : @sha[0, 12]}#{"-again" if again}"))
          end

          def describe
            title = here? ? "the checkout as it is" : git("log", "-1", "--format=%s", @sha)
            super.merge("sha" => @sha, "title" => title)
          end

          # @return [String] where its files are; copies them there if need be
          def folder
            return @repository if here?
            path = File.join(File.dirname(Engine::Gemfile.folder), "revisions",
                             "#{@sha}-#{RUBY_VERSION}-#{RbConfig::CONFIG["arch"]}")
            copy(path) unless File.directory?(path)
            path
          end

          private

          def here? = text == HERE

          def digest
            files = Dir.glob(SOURCES, base: folder).sort
            lines = files.map { |file| "#{file}\0#{Digest::SHA256.file(File.join(folder, file)).hexdigest}" }
            Digest::SHA256.hexdigest(lines.join("\n"))
          end

          # Whole or not at all: an interrupted copy is not taken for one.
          def copy(path)
            partial = "#{path}.#{Process.pid}"
            FileUtils.mkdir_p(partial)
            statuses = Open3.pipeline(["git", "-C", @repository, "archive", "--format=tar", @sha],
                                      ["tar", "-x", "-C", partial])
            raise CannotRun, "the files of #{text} could not be copied into #{path}" unless statuses.all?(&:success?)
            File.rename(partial, path)
          rescue Errno::ENOTEMPTY, Errno::EEXIST
            nil # another run was quicker
          ensure
            FileUtils.rm_rf(partial)
          end

          def extensions
            Dir.glob(File.join(folder, "ext/tiercel/*/extconf.rb")).select do |path|
              Dir.glob(File.join(File.dirname(path), "*.c")).any?
            end
          end

          def library(extconf)
            File.join(folder, "lib/tiercel/#{File.basename(File.dirname(extconf))}_ext.#{RbConfig::CONFIG["DLEXT"]}")
          end

          def compiled? = extensions.all? { |extconf| File.exist?(library(extconf)) }

          def compile(progress)
            progress&.say("compiling #{text} (once)")
            extensions.each do |extconf|
              build = File.join(folder, "tmp", "lab", File.basename(File.dirname(extconf)))
              FileUtils.mkdir_p(build)
              run(RbConfig.ruby, extconf, folder: build)
              run("make", folder: build)
              built = Dir.glob(File.join(build, "**/*.#{RbConfig::CONFIG["DLEXT"]}")).first
              raise CannotRun, "#{text}: nothing was built in #{build}" unless built
              FileUtils.cp(built, "#{library(extconf)}.new")
              File.rename("#{library(extconf)}.new", library(extconf))
            end
          end

          def run(*command, folder:)
            said, status = Open3.capture2e({ "RUBYOPT" => nil, "RUBYLIB" => nil, "MAKEFLAGS" => nil }, *command,
                                           chdir: folder)
            raise CannotRun, "#{text} could not be compiled: #{said.lines.last.to_s.strip}" unless status.success?
          end

          def git(*words)
            said, status = Open3.capture2("git", "-C", @repository, *words, err: File::NULL)
            status.success? ? said.strip : raise(CannotRun, "git #{words.join(" ")} failed in #{@repository}")
          end
        end
      end
    end
  end
end
