# frozen_string_literal: true

require "digest"
require "fileutils"
require_relative "../extensions"
require_relative "../compare/side"
require_relative "../../user_folders"

module Tiercel
  module Lab
    module Tables
      module Gate
        # One side of a gate: the files of a revision, copied into the user's cache folder and built there. Both sides
        # are built in the same way, also the working copy.
        class Tree
          # Trees that are unused for this long are removed.
          KEPT_SECONDS = 14 * 24 * 3600
          READY = ".tiercel-lab-ready"
          FILES = "TIERCEL_LAB_BENCHMARKS"

          # @return [String] "base" or "head"
          attr_reader :name
          # @return [String] the tree's hash in Git
          attr_reader :sha
          attr_reader :commit

          # @param name [String] name of the side: "base" or "head"
          # @param revision [String]
          # @param sha [String] Git hash of its files, see {Checkout#tree}
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

          # Copies and builds the tree, unless the same content is already there.
          #
          # @param progress [#say]
          # @raise [CannotRun]
          def prepare(progress)
            sweep
            return FileUtils.touch(ready) if File.exist?(ready)
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
          # @param again [Boolean] whether to use a separate worker
          # @return [Contestant] a contestant that runs with this tree's gems
          def contestant(cell, again: false)
            own = again ? (@again ||= bundle.with) : bundle
            Contestants.parse(cell.text).extend(Compare::Side::Placed).run_with("#{name}: #{cell.label}", own)
          end

          # @return [Hash{String => Object}] the form of the results file
          def describe
            { "name" => name, "text" => @revision, "sha" => commit, "tree" => sha,
              "title" => @revision == Checkout::HERE ? "the checkout as it is" : @checkout.title(commit) }
          end

          # @return [String]
          def self.trees = UserFolders.cache("trees")

          private

          def ready = File.join(folder, READY)

          def sweep
            Dir.glob(File.join(Tree.trees, "*")).each do |path|
              marker = File.join(path, READY)
              used = File.mtime(File.exist?(marker) ? marker : path)
              FileUtils.rm_rf(path) if Time.now - used > KEPT_SECONDS
            end
          end

          # Gems often do not commit their lock file; both sides then use the checkout's versions.
          def copy_lock
            own, target = [@checkout.folder, folder].map { |place| File.join(place, "Gemfile.lock") }
            FileUtils.cp(own, target) if File.exist?(own) && !File.exist?(target)
          end

          def build(progress)
            bundle.install(progress:)
            @configuration.prepare.empty? ? compile(progress) : run_commands(progress)
          rescue CannotRun => e
            raise CannotRun, "#{name} (#{@revision}): #{e.message}"
          end

          def compile(progress)
            extensions = Extensions.new(folder)
            progress.say("#{name}: compiling") if extensions.any?
            extensions.build
          end

          def run_commands(progress)
            variables = { "TIERCEL_LAB_SIDE" => name, "BUNDLE_GEMFILE" => bundle.environment["BUNDLE_GEMFILE"] }
            @configuration.prepare.each do |command|
              progress.say("#{name}: #{command}")
              Extensions.run("sh", "-c", command, folder:, variables:)
            end
          end
        end
      end
    end
  end
end
