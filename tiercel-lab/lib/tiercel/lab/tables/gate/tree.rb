# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "rbconfig"
require_relative "../../stores"
require_relative "../sides/side"
require_relative "tree_bundle"

module Tiercel
  module Lab
    module Tables
      module Gate
        # One side of a gate: the files of a revision in a folder of the user's cache, made ready there. Both sides are
        # made alike, the checkout as it is too.
        class Tree
          # Trees that nothing has used for so long are removed.
          KEPT_SECONDS = 14 * 24 * 3600
          READY = ".tiercel-lab-ready"
          FILES = "TIERCEL_LAB_BENCHMARKS"

          # @return [String] "base" or "head"
          attr_reader :name
          # @return [String] of Git
          attr_reader :sha
          attr_reader :commit

          # @param name [String] what its side is called
          # @param revision [String]
          # @param sha [String] of its files, see {Checkout#tree}
          # @param checkout [Checkout]
          # @param configuration [Configuration]
          def initialize(name, revision:, sha:, checkout:, configuration:)
            @name = name
            @revision = revision
            @sha = sha
            @checkout = checkout
            @configuration = configuration
            @commit = checkout.commit(revision)
          end

          # Copies and builds, once for each content.
          #
          # @param progress [#say]
          # @raise [CannotRun]
          def prepare(progress)
            sweep
            return touch if File.exist?(ready)
            FileUtils.rm_rf(folder)
            FileUtils.mkdir_p(folder)
            @checkout.write(sha, folder)
            copy_lock
            build(progress)
            FileUtils.touch(ready)
          end

          # @return [TreeBundle]
          def bundle = @bundle ||= TreeBundle.new(folder, variables: { FILES => files.join("\n") })

          # @return [String]
          def folder
            key = Digest::SHA256.hexdigest([sha, @configuration.prepare, RUBY_DESCRIPTION].join("\0"))[0, 20]
            File.join(Tree.trees, "#{File.basename(@checkout.folder)}-#{key}")
          end

          # @return [Array<String>] files with benchmarks
          def files = @configuration.benchmarks.flat_map { |glob| Dir.glob(glob, base: folder).sort }.uniq

          # @param cell [GatedCell]
          # @param again [Boolean] in a worker of its own
          # @return [Contestant] that runs with this tree's gems
          def contestant(cell, again: false)
            own = again ? (@again ||= bundle.with) : bundle
            Contestants.parse(cell.text).extend(Sides::Side::Placed).run_with("#{name}: #{cell.label}", own)
          end

          # @return [Hash{String => Object}] for the results
          def describe
            { "name" => name, "text" => @revision, "sha" => commit, "tree" => sha,
              "title" => @revision == Checkout::HERE ? "the checkout as it is" : @checkout.title(commit) }
          end

          # @return [String]
          def self.trees
            File.join(ENV.fetch("XDG_CACHE_HOME") { File.expand_path("~/.cache") }, "tiercel-lab", "trees")
          end

          private

          def ready = File.join(folder, READY)

          def touch = FileUtils.touch(ready)

          def sweep
            Dir.glob(File.join(Tree.trees, "*")).each do |path|
              marker = File.join(path, READY)
              used = File.mtime(File.exist?(marker) ? marker : path)
              FileUtils.rm_rf(path) if Time.now - used > KEPT_SECONDS
            end
          end

          # A gem's lock file is often not committed: both sides then have the versions that the checkout has.
          def copy_lock
            own, target = [@checkout.folder, folder].map { |place| File.join(place, "Gemfile.lock") }
            FileUtils.cp(own, target) if File.exist?(own) && !File.exist?(target)
          end

          def build(progress)
            bundle.install(progress:)
            commands = @configuration.prepare
            return compile(progress) if commands.empty?
            commands.each do |command|
              progress.say("#{name}: #{command}")
              run({ "TIERCEL_LAB_SIDE" => name, "BUNDLE_GEMFILE" => bundle.environment["BUNDLE_GEMFILE"] }, "sh", "-c",
                  command, folder:)
            end
          end

          # As RubyGems builds an extension of a gem that it installs.
          def compile(progress)
            extensions = Dir.glob("ext/**/extconf.rb", base: folder)
            progress.say("#{name}: compiling") if extensions.any?
            extensions.each do |path|
              source = File.join(folder, path)
              target = File.join(folder, "tmp", "lab", File.basename(File.dirname(source)))
              FileUtils.mkdir_p(target)
              library = File.join(folder, "lib")
              run({}, RbConfig.ruby, source, folder: target)
              run({}, "make", "install", "sitearchdir=#{library}", "sitelibdir=#{library}", folder: target)
            end
          end

          def run(variables, *command, folder:)
            own = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MAKEFLAGS" => nil, "BUNDLER_SETUP" => nil }.merge(variables)
            said, status = Open3.capture2e(own, *command, chdir: folder)
            return if status.success?
            raise CannotRun, "#{name} (#{@revision}): #{command.join(" ")} failed: #{said.lines.last(3).join.strip}"
          end
        end
      end
    end
  end
end
