# frozen_string_literal: true

require_relative "../report"

module Tiercel
  module Lab
    module Documents
      # Reports as chapters of one: each becomes a section with its sentence, its command and everything in it.
      module Chapters
        module_function

        # The report of a run, by the command that made it.
        #
        # @param results [Hash{String => Object}]
        # @param program [String] how the user calls the lab
        # @return [Report::Document]
        def document(results, program:)
          name, arguments = results["run"].values_at("command", "arguments")
          Commands.fetch(name).document(results, command: command(name, arguments, program))
        end

        # @param name [String] the command's
        # @param arguments [Array<String>]
        # @param program [String]
        # @return [String] a command line that can be pasted
        def command(name, arguments, program)
          unnamed = name == Commands::DEFAULT && (arguments.empty? || arguments.first.start_with?("-"))
          [program, *(name unless unnamed), *arguments].join(" ")
        end

        # @param target [Report::Document] gets the section
        # @param document [Report::Document]
        # @param title [String]
        # @param anchor [String]
        # @return [void]
        def add(target, document, title:, anchor:)
          target.section(title, anchor:) do |section|
            document.verdicts.each { |verdict| section.add(verdict) }
            section.text(document.subtitle) if document.subtitle
            section.code(document.command) if document.command
            document.sections.each do |part|
              section.heading(part.title)
              part.elements.each { |element| section.add(element) }
            end
          end
        end

        # Results without every slice: what a page carries for programs.
        #
        # @param results [Hash{String => Object}, nil]
        # @return [Hash{String => Object}, nil]
        def light(results)
          results&.merge("cells" => results["cells"].map { |cell| cell.except("slices") })
        end
      end
    end
  end
end
