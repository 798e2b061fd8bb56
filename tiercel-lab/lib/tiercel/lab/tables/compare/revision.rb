# frozen_string_literal: true

require "digest"
require "fileutils"
require "rbconfig"
require_relative "../../engine/gemfile"
require_relative "../checkout"
require_relative "../extensions"

module Tiercel
  module Lab
    module Tables
      module Compare
        # A revision of the repository, copied into the user's cache folder and compiled there. "." is the working copy.
        class Revision < Side
          # The files that can change a measurement.
          SOURCES = "{lib,ext}/**/*.{rb,c,h}"

          # @return [String] the repository that the lab lies in
          # @raise [UsageError] if it lies in none
          def self.repository
            Checkout.new(__dir__).folder
          rescue UsageError
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
            @checkout = Checkout.new(repository)
            @sha = @checkout.commit(text)
          rescue UsageError
            raise UsageError, "compare #{text}: neither a store (TYPE[:PLACE][#OPTION=VALUE]), nor GEM@VERSION, " \
                              "nor a revision in #{File.expand_path(repository)}"
          end

          def kind = "a revision"

          def fingerprint = @fingerprint ||= digest

          def sameness = "lib/ and ext/ are the same in both"

          def stores = ["tiercel:shared:"]

          def prepare(progress: nil)
            return if here? || extensions.built?
            progress&.say("compiling #{text} (once)")
            extensions.build
          rescue CannotRun => e
            raise CannotRun, "#{text} could not be compiled: #{e.message}"
          end

          def contestant(store, again: false)
            gemfile = Engine::Gemfile.new(base: nil, name: "tiercel", source: "path: #{folder.inspect}")
            placed(store, gemfile.write("tiercel-#{here? ? "checkout" : @sha[0, 12]}#{"-again" if again}"))
          end

          def describe
            super.merge("sha" => @sha, "title" => here? ? "the checkout as it is" : @checkout.title(@sha))
          end

          # @return [String] folder with the revision's files; copies them there if necessary
          def folder
            return @checkout.folder if here?
            path = File.join(File.dirname(Engine::Gemfile.folder), "revisions",
                             "#{@sha}-#{RUBY_VERSION}-#{RbConfig::CONFIG["arch"]}")
            copy(path) unless File.directory?(path)
            path
          end

          private

          def here? = text == Checkout::HERE

          def digest
            files = Dir.glob(SOURCES, base: folder).sort
            lines = files.map { |file| "#{file}\0#{Digest::SHA256.file(File.join(folder, file)).hexdigest}" }
            Digest::SHA256.hexdigest(lines.join("\n"))
          end

          # Renames the folder once it is complete, so that an interrupted copy is never used.
          def copy(path)
            partial = "#{path}.#{Process.pid}"
            FileUtils.mkdir_p(partial)
            @checkout.write(@sha, partial)
            File.rename(partial, path)
          rescue Errno::ENOTEMPTY, Errno::EEXIST
            nil # another run was quicker
          ensure
            FileUtils.rm_rf(partial)
          end

          def extensions = Extensions.new(folder)
        end
      end
    end
  end
end
