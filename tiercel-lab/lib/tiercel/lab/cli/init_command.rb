# frozen_string_literal: true

require "fileutils"
require_relative "../folder"
require_relative "command"
require_relative "init/files"

module Tiercel
  module Lab
    module CLI
      # Writes the files that a repository needs for gates and histories. It does not overwrite existing files.
      class InitCommand < Command
        FACTS = Facts.new(name: "init", groups: [],
                          summary: "Writes what CI needs: `init gate`, `init ci`.",
                          examples: ["init gate", "init ci", "init ci --servers redis,memcached", "init gate --force"])

        def facts = FACTS

        def perform
          files = Init::Files.new(@folder || Dir.pwd, servers: @servers || [], kind: @kind)
          written = @what.flat_map { |what| files.of(what).map { |path, text| write(files.folder, path, text) } }
          out.puts written, "", files.advice
          ExitCodes::OK
        end

        private

        def usage = command_line(name, "gate|ci [options]")

        def options(parser)
          parser.on("--kind KIND", Init::Files::KINDS, "#{Init::Files::KINDS.join(" or ")} (by its files)") do |kind|
            @kind = kind
          end
          known = Tables::Gate::Configuration::SERVERS
          parser.on("--servers A,B", Array, "that benchmarks use: #{known.join(", ")}") { |names| @servers = names }
          parser.on("--repository DIR", "folder of the repository (.)") { |folder| @folder = folder }
          parser.on("--force", "replace existing files") { @force = true }
        end

        # `ci` needs the files of `gate`.
        def accept(rest)
          @what = { ["gate"] => %w[gate], ["ci"] => %w[gate ci] }[rest]
          raise UsageError, "#{["init", *rest].join(" ")}: expected gate or ci" unless @what
          unknown = @servers.to_a - Tables::Gate::Configuration::SERVERS
          return if unknown.empty?
          raise UsageError, Catalogue.unknown("server", unknown.first, Tables::Gate::Configuration::SERVERS)
        end

        def write(folder, path, text)
          target = File.join(folder, path)
          return "kept     #{path} (--force replaces it)" if File.exist?(target) && !@force
          FileUtils.mkdir_p(File.dirname(target))
          File.write(target, text)
          "written  #{path}"
        rescue SystemCallError => e
          raise UsageError, "#{Folder.not_written(target, e)}; --repository DIR names another folder"
        end
      end
    end
  end
end
